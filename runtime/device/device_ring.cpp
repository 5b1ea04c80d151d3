#include "runtime/device/device_ring.hpp"

#include <algorithm>
#include <utility>

namespace leat {

device_slot_ptr device_ring::take() {
  mutex_lock lock{mutex_};
  while (here_.empty() && !is_interrupted_)
    some_.wait(mutex_);
  if (is_interrupted_)
    return nullptr;
  auto best = std::find_if(here_.begin(), here_.end(),
                           [](const device_slot_ptr& x) { return x->is_idle(); });
  if (best == here_.end())
    best = here_.begin();
  auto found = std::move(*best);
  here_.erase(best);
  return found;
}

void device_ring::put(device_slot_ptr x) {
  {
    const mutex_lock lock{mutex_};
    if (!is_closed_)
      here_.push_back(std::move(x));
  }
  some_.notify_one();
}

void device_ring::interrupt() noexcept {
  {
    const mutex_lock lock{mutex_};
    is_interrupted_ = true;
  }
  some_.notify_all();
}

void device_ring::clear() noexcept {
  std::vector<device_slot_ptr> all;
  const mutex_lock lock{mutex_};
  is_closed_ = true;
  all.swap(here_);
}

} // namespace leat
