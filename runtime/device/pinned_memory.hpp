#pragma once

#include "runtime/base/huge_buffer.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/device/device_calls.hpp"

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <memory_resource>

namespace leat {

/// Huge pages of the system, pinned for a device once and kept. Where the driver refuses to pin
/// them they are used as they are, and the first refusal is a notice. Any thread.
class pinned_memory final : public std::pmr::memory_resource {
public:
  explicit pinned_memory(std::shared_ptr<device_calls> calls) : calls_(std::move(calls)) {}

  /// No page was refused so far.
  bool is_pinned() const noexcept { return !was_refused_; }

private:
  struct block {
    huge_buffer pages;
    bool is_pinned = false;
  };

  /// At most as aligned as a page.
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
  bool pin(std::byte* pages, std::size_t bytes);

  const std::shared_ptr<device_calls> calls_;
  std::atomic<bool> was_refused_{false};
  mutex mutex_;
  std::map<void*, block> blocks_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
