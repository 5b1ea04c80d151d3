#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/device/device_calls.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace leat {

/// A function that runs on a device: the driver's own handle (CUfunction).
struct device_kernel {
  void* handle = nullptr;
};

/// How many threads run a kernel.
struct device_launch {
  device_kernel kernel;
  /// Blocks of threads, at least one in each direction.
  std::array<unsigned, 3> grid = {1, 1, 1};
  /// Of a block: 1 to 1,024.
  unsigned threads = 1;
  /// Of a block, beside what the kernel has itself; both together at most 48 KB.
  unsigned shared_bytes = 0;
};

/// The calls of a device's driver that decoding there needs, beside those of batches. Any thread,
/// any number of them at a time. They throw as those of device_calls do.
class device_kernels : not_copied {
public:
  virtual ~device_kernels() = default;

  /// One of leat's own, by its name there.
  virtual device_kernel find(const char* name) = 0;
  /// Has the stream run it. `argument` is its only parameter, which is copied before the call
  /// returns.
  virtual void launch(const device_launch& x, std::span<const std::byte> argument,
                      device_stream in) = 0;
  /// Has the stream copy to the host. `to` is pinned, or the call may take as long as the copy.
  virtual void copy_back(std::byte* to, const std::byte* from, std::size_t bytes,
                         device_stream in) = 0;
  /// Has the stream copy from one place of the device to another; they do not overlap.
  virtual void copy_within(std::byte* to, const std::byte* from, std::size_t bytes,
                           device_stream in) = 0;
  /// Has the stream write zeros over words of 4 bytes, at an address that is a multiple of 4.
  virtual void clear(std::byte* at, std::size_t words, device_stream in) = 0;
};

} // namespace leat
