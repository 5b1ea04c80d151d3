#pragma once

#include <leat/image_decoder.hpp>
#include <leat/source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat::command {

/// A JPEG in memory, and what is made of it.
struct decode_case {
  std::vector<std::byte> file;
  resize_plan what;
  /// Where its rows begin (find_jpeg_rows); none if leat's own decoder does not take the file.
  std::vector<std::byte> rows = {};
  /// True if they come from the data's row index.
  bool indexed = false;
  /// True if leat's own decoder takes the file.
  bool is_own = false;

  /// Makes pixels in the first bytes of `to`, with or without `rows`.
  void decode(image_decoder& by, bool with_rows, const tensor_form& form,
              std::span<std::byte> to) const;
};

enum class decode_transform : std::uint8_t {
  /// A random crop, its own for each image, mirrored by chance.
  train,
  /// The central crop of evaluation.
  eval,
};

inline constexpr std::size_t pixels_across = 224;

struct decode_cases {
  /// One per record: its first field that is a JPEG.
  std::vector<decode_case> images;
  /// Bad ones, which are left out.
  std::size_t bad = 0;
};

/// Reads at most so many images, spread evenly over the data. Throws what the source throws.
decode_cases load_cases(const source& data, decode_transform transform, std::size_t most);

/// Mean size of a file in bytes.
double mean_bytes(const decode_cases& x);

} // namespace leat::command
