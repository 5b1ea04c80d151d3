#pragma once

#include "runtime/device/device_calls.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace leat {

/// Memory of a device. The device must not use it any more when it ends.
class device_memory {
public:
  device_memory() = default;
  /// Throws `errc::no_resources`.
  device_memory(std::shared_ptr<device_calls> calls, std::size_t bytes)
      : calls_(std::move(calls)), data_(bytes > 0 ? calls_->allocate(bytes) : nullptr),
        size_(bytes) {}
  device_memory(device_memory&& other) noexcept { *this = std::move(other); }
  device_memory& operator=(device_memory&& other) noexcept {
    std::swap(calls_, other.calls_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~device_memory() {
    if (data_)
      calls_->release(data_);
  }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

private:
  std::shared_ptr<device_calls> calls_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace leat
