#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/device/device_slot.hpp"

#include <memory>
#include <vector>

namespace leat {

using device_slot_ptr = std::shared_ptr<device_slot>;

/// A device's memory for several batches, and which of it is with nobody.
class device_ring {
public:
  explicit device_ring(std::vector<device_slot_ptr> all) : here_(std::move(all)) {}

  /// Waits until there is one; null once it was interrupted. Prefers memory that the device does
  /// not use any more, and else takes what came back first. One thread.
  device_slot_ptr take();
  /// Any thread.
  void put(device_slot_ptr x);
  /// From now on no call waits. Any thread.
  void interrupt() noexcept;
  /// Frees what is here, and what comes back later. Once it was interrupted.
  void clear() noexcept;

private:
  mutex mutex_;
  condition_variable some_;
  std::vector<device_slot_ptr> here_ LEAT_GUARDED_BY(mutex_);
  bool is_interrupted_ LEAT_GUARDED_BY(mutex_) = false;
  bool is_closed_ LEAT_GUARDED_BY(mutex_) = false;
};

} // namespace leat
