#pragma once

#include "runtime/image/device/device_image.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

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
  /// The mean gray of images whose contrast is adjusted.
  grays,
  /// Adjusts colours.
  colours,
};
inline constexpr std::size_t num_kernels = 10;

/// The function's name in libleat_cuda. Its only argument is the device_group.
const char* name_of(kernel x) noexcept;

struct kernel_launch {
  kernel which;
  std::array<unsigned, 3> grid;
  unsigned threads;
  unsigned shared_bytes;
};

/// The kernels that a group needs, in their order. It has at least one image.
std::vector<kernel_launch> launches_of(const device_group& x);

} // namespace leat
