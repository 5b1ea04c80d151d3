#pragma once

#include "messages/fwd.hpp"
#include "runtime/base/threads/blocking_queue.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace leat {

/// Slots on their way to the trainer, in order, and the failure that no slot could carry.
class finished_slots {
public:
  /// Any thread.
  void push(slot_ptr slot) { ready_.push(std::move(slot)); }
  /// Only the first failure counts. Needs no memory. Any thread.
  void fail(error problem) noexcept {
    {
      const mutex_lock lock{mutex_};
      if (!problem_)
        problem_ = std::move(problem);
    }
    ready_.interrupt();
  }
  /// From now on no call waits. Any thread.
  void interrupt() noexcept { ready_.interrupt(); }

  /// The oldest slot, if there is one.
  std::optional<slot_ptr> try_pop() { return ready_.try_pop(); }
  /// The oldest slot, or nothing if none came in time. Throws the failure. One thread.
  std::optional<slot_ptr> pop_until(std::chrono::steady_clock::time_point deadline) {
    auto slot = ready_.pop_until(deadline);
    if (!slot)
      check();
    return slot;
  }

private:
  void check() {
    const mutex_lock lock{mutex_};
    if (problem_)
      throw error(*problem_);
  }

  blocking_queue<slot_ptr> ready_;
  mutex mutex_;
  std::optional<error> problem_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
