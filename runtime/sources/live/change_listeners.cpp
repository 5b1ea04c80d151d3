#include "runtime/sources/live/change_listeners.hpp"

#include <utility>

namespace leat {

std::function<void()> change_listeners::add(std::function<void()> changed) {
  auto added = std::make_shared<listener>(std::move(changed));
  mutex_lock lock{mutex_};
  std::erase_if(all_, [](const auto& x) { return x->gone.load(); });
  all_.push_back(added);
  return [added = std::move(added)] {
    mutex_lock calling{added->calling};
    added->gone = true;
  };
}

void change_listeners::call() {
  const auto all = [&] {
    mutex_lock lock{mutex_};
    return all_;
  }();
  for (const auto& x : all) {
    mutex_lock calling{x->calling};
    if (!x->gone)
      x->changed();
  }
}

} // namespace leat
