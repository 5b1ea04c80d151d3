#include "runtime/sources/live/change_listeners.hpp"

#include <utility>

namespace leat {

std::function<void()> change_listeners::add(std::function<void()> changed) {
  auto added = std::make_shared<listener>();
  added->changed = std::move(changed);
  std::lock_guard lock{mutex_};
  std::erase_if(all_, [](const auto& x) { return x->gone.load(); });
  all_.push_back(added);
  return [added = std::move(added)] {
    std::lock_guard calling{added->calling};
    added->gone = true;
  };
}

void change_listeners::call() {
  const auto all = [&] {
    std::lock_guard lock{mutex_};
    return all_;
  }();
  for (const auto& x : all) {
    std::lock_guard calling{x->calling};
    if (!x->gone)
      x->changed();
  }
}

} // namespace leat
