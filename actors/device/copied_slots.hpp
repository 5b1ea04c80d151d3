#pragma once

#include "actors/batch_engine.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/device/device_ring.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace leat {

/// The slots that a device_engine has from the engine that fills them. Each goes back once its
/// batch is over and no copy reads it any more. Any thread, unless a function says otherwise.
class copied_slots {
public:
  /// Waits for copies if more than `most` slots wait for theirs.
  copied_slots(std::shared_ptr<batch_engine> makes, std::size_t most)
      : makes_(std::move(makes)), most_(most) {}

  void give_back(slot_ptr slot) { makes_->recycle(std::move(slot)); }
  /// The same once `to` is copied, which the slot's bytes go to.
  void give_back_after(slot_ptr slot, device_slot_ptr to) {
    const mutex_lock lock{mutex_};
    waiting_.push_back({std::move(slot), std::move(to)});
  }
  /// Gives back those that waited and are copied. For the thread that copies.
  void give_back_copied() {
    std::vector<slot_ptr> done;
    mutex_lock lock{mutex_};
    std::erase_if(waiting_, [&](waiting& x) {
      if (!x.to->is_copied())
        return false;
      done.push_back(std::move(x.slot));
      return true;
    });
    while (waiting_.size() > most_) {
      auto oldest = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      oldest.to->wait_until_copied();
      done.push_back(std::move(oldest.slot));
      lock.lock();
    }
    lock.unlock();
    for (auto& slot : done)
      give_back(std::move(slot));
  }

  /// Drops those that wait, which must be copied.
  void clear() noexcept {
    const mutex_lock lock{mutex_};
    waiting_.clear();
  }

private:
  struct waiting {
    slot_ptr slot;
    device_slot_ptr to;
  };

  const std::shared_ptr<batch_engine> makes_;
  const std::size_t most_;
  mutex mutex_;
  std::deque<waiting> waiting_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
