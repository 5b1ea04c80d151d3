#pragma once

#include "runtime/image/jpeg/scan_decoder.hpp"
#include "runtime/image/pixels/resize_plan.hpp"

#include <leat/source.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat::command {

/// A JPEG in memory, and what becomes of it.
struct decode_case {
  std::vector<std::byte> file;
  resize_plan what;
  /// Places as a row index has them; none if leat's own decoder does not take the file.
  std::vector<scan_place> places;
  /// True where the data's row index has them.
  bool indexed = false;
};

enum class decode_transform : std::uint8_t {
  /// A random crop, its own for each image, mirrored by chance.
  train,
  /// The central crop of evaluation.
  eval,
};

inline constexpr std::size_t pixels_across = 224;
inline constexpr std::size_t max_pixels = std::size_t{1} << 27;

struct decode_cases {
  /// One a record: its first field that is a JPEG.
  std::vector<decode_case> images;
  /// Bad ones, which are left out.
  std::size_t bad = 0;
};

/// Reads images, at most so many, evenly over the data. Throws what the source throws.
decode_cases load_cases(const source& data, decode_transform transform, std::size_t most);

/// Bytes of a file, the mean of all.
double mean_bytes(const decode_cases& x);

} // namespace leat::command
