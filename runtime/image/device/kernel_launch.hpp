#pragma once

#include "runtime/image/device/device_image.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace leat {

/// In the order in which a group's kernels run.
enum class kernel : std::uint8_t {
  /// Coefficients, and what is told, to zero.
  clear,
  /// Huffman tables.
  tables,
  /// Removes stuffing.
  unstuff,
  /// Weights of samples for pixels.
  weights,
  /// Entropy decoding.
  decode,
  /// Inverse DCT.
  transform,
  /// Rows of samples to rows as wide as the pixels.
  narrow,
  /// These to pixels.
  pixels,
};
inline constexpr std::size_t num_kernels = 8;

/// The function's name in libleat_cuda. Its only argument is the device_group.
const char* name_of(kernel x) noexcept;

struct kernel_launch {
  kernel which;
  std::array<unsigned, 3> grid;
  unsigned threads;
  unsigned shared_bytes;
};

/// All kernels for a group that is not empty, in their order. Those with a grid of 0 have nothing
/// to do, and are left out: planes may be made by others.
std::array<kernel_launch, num_kernels> launches_of(const device_group& x) noexcept;

} // namespace leat
