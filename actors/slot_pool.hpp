#pragma once

#include "messages/fwd.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace leat {

/// Makes all slots of one loader, and keeps those that are not in use. Any thread, unless a
/// function says otherwise.
class slot_pool {
public:
  /// `metrics`, which records the phases of slots, must outlive them all. `tensors`: see
  /// loader_options::batch_memory.
  slot_pool(std::shared_ptr<const batch_layout> layout, std::size_t rows, job_metrics& metrics,
            tensor_memory tensors)
      : layout_(std::move(layout)), rows_(rows), metrics_(metrics), tensors_(std::move(tensors)) {}

  /// Makes slots until there are `n`, and gives each new one to `give`. Throws
  /// `errc::no_resources`; the slots made before stay. For one thread.
  template <class Give>
  void grow(std::size_t n, Give give) {
    if (made_ < n && !is_told_)
      is_told_ = check_batches(*layout_, rows_, n);
    for (; made_ < n; ++made_) {
      auto slot = std::make_shared<batch_slot>(layout_, rows_, tensors_);
      slot->count_in(metrics_, numbers_++);
      give(std::move(slot));
    }
  }

  /// The same for batches that are made ahead and those that are leased. If fewer are to be made
  /// ahead than before, as many slots are surplus.
  template <class Give>
  void hold(std::size_t ahead, std::size_t leased, Give give) {
    if (ahead < ahead_) {
      const auto fewer = std::min(ahead_ - ahead, made_ - std::min(made_, ahead + leased));
      made_ -= fewer;
      surplus_.fetch_add(fewer, std::memory_order_relaxed);
    }
    ahead_ = ahead;
    grow(ahead + leased, std::move(give));
  }
  /// Whether a slot that nobody uses is to be dropped.
  bool take_surplus() noexcept {
    auto n = surplus_.load(std::memory_order_relaxed);
    while (n > 0 && !surplus_.compare_exchange_weak(n, n - 1, std::memory_order_relaxed))
      ;
    return n > 0;
  }

  void put(slot_ptr slot) {
    mutex_lock lock{mutex_};
    free_.push_back(std::move(slot));
  }
  /// Takes a slot that was put here; there must be one.
  slot_ptr take() {
    mutex_lock lock{mutex_};
    auto slot = std::move(free_.back());
    free_.pop_back();
    return slot;
  }

private:
  const std::shared_ptr<const batch_layout> layout_;
  const std::size_t rows_;
  job_metrics& metrics_;
  const tensor_memory tensors_;
  std::size_t made_ = 0;
  /// The notice of much memory is sent once.
  bool is_told_ = false;
  /// How many slots have been numbered, dropped ones included.
  std::size_t numbers_ = 0;
  std::size_t ahead_ = 0;
  std::atomic<std::size_t> surplus_{0};
  mutex mutex_;
  std::vector<slot_ptr> free_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
