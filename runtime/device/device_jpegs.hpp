#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/device/device_calls.hpp"

#include <cstddef>
#include <span>

namespace leat {

/// Where a component's samples go in the memory of a device, row by row.
struct device_plane {
  std::byte* samples = nullptr;
  /// Bytes from one row to the next.
  std::size_t stride = 0;
  std::size_t width = 0;
  std::size_t height = 0;
};

/// A library of the device's maker that decodes whole JPEGs there. Its samples are not those of the
/// processor. Used by one thread at a time; waits for its work when it ends.
class device_jpegs : not_copied {
public:
  virtual ~device_jpegs() = default;

  /// Has the stream write the planes of an image as the file has them: one, gray, or Y, Cb and Cr.
  /// May sleep until the device has decoded earlier ones, and does not need the file any more once
  /// it returns. False: the library does not take the file, or finds planes of other sizes in it;
  /// then their content is not known. Throws as the functions of device_calls do.
  virtual bool decode(std::span<const std::byte> file, std::span<const device_plane> planes,
                      device_stream in) = 0;
};

} // namespace leat
