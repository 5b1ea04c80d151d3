#pragma once

#include "demos/command/data_arguments.hpp"
#include "runtime/jpeg/scan_decoder.hpp"
#include "runtime/pixels/resize_plan.hpp"

#include <cstddef>
#include <vector>

namespace leat::bench {

/// An image in memory, and what becomes of it.
struct decode_case {
  std::vector<std::byte> file;
  resize_plan what;
  /// Of its MCU rows; none where leat's own decoder does not take it.
  std::vector<scan_place> places;
};

enum class decode_transform {
  /// A random crop, its own for each image, mirrored by chance.
  train,
  /// The central crop of evaluation.
  eval,
};

inline constexpr std::size_t pixels_across = 224;
inline constexpr std::size_t max_pixels = std::size_t{1} << 27;

struct decode_cases {
  std::vector<decode_case> images;
  /// Bad samples, which are left out.
  std::size_t bad = 0;
};

/// Reads images, at most so many, evenly over the data. Throws what the source throws.
decode_cases load_cases(const command::data_arguments& data, decode_transform transform,
                        std::size_t most);

} // namespace leat::bench
