#pragma once

#include "messages/fwd.hpp"
#include "runtime/base/mutex.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

namespace leat {

/// Makes all slots of one loader, and keeps those that are not in use. Any thread.
class slot_pool {
public:
  /// `metrics`, which records the phases of slots, must outlive them all. `from`: see
  /// loader_options::batch_memory.
  slot_pool(std::shared_ptr<const batch_layout> layout, std::size_t rows, job_metrics& metrics,
            std::shared_ptr<std::pmr::memory_resource> from)
      : layout_(std::move(layout)), rows_(rows), metrics_(metrics), from_(std::move(from)) {}

  /// Makes slots until there are `n`, and gives each new one to `give`. Throws
  /// `errc::no_resources`; the slots made before stay. For one thread.
  template <class Give>
  void grow(std::size_t n, Give give) {
    for (; made_ < n; ++made_) {
      auto slot = std::make_shared<batch_slot>(layout_, rows_, from_);
      slot->count_in(metrics_, made_);
      give(std::move(slot));
    }
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
  const std::shared_ptr<std::pmr::memory_resource> from_;
  std::size_t made_ = 0;
  mutex mutex_;
  std::vector<slot_ptr> free_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
