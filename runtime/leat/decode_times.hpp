#pragma once

#include <leat/export.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leat {

/// Parts of the work that it takes to make a tensor of an image file, in their order.
enum class decode_part : std::uint8_t {
  headers,
  /// Weights and tables of the resize; memory.
  planning,
  huffman_tables,
  /// Removing the bytes that a JPEG has stuffed between others. With the row index it is a part of
  /// `skimming`.
  unstuffing,
  /// Entropy decoding of what lies beside the crop, and is only passed over.
  skimming,
  /// Entropy decoding of what the crop needs. For files that leat's own decoder does not take (PNG,
  /// WebP, progressive JPEGs), everything that libpng, libwebp or libjpeg-turbo does.
  decoding,
  /// The inverse DCT.
  transforming,
  /// Resampling along rows.
  narrowing,
  /// Resampling down columns, colour, normalizing, storing.
  writing,
};

inline constexpr std::size_t num_decode_parts = 9;

/// "entropy: decode".
LEAT_API const char* to_string(decode_part x) noexcept;

/// Where the time of decoding images goes, added up over images: see `image_decoder::time`.
/// Looking at the clock takes time, too; it is measured at the beginning, and left out. Used by one
/// thread at a time.
class LEAT_API decode_times {
public:
  decode_times();

  /// Images whose pixels were made.
  std::uint64_t images() const noexcept { return images_; }
  std::chrono::nanoseconds time_in(decode_part x) const noexcept;
  /// All parts together.
  std::chrono::nanoseconds total() const noexcept;

  // For decoders.

  /// An image's work begins, or continues after other work.
  void begin() noexcept;
  /// What passed since the last call was this part.
  void lap(decode_part x) noexcept;
  void end_image() noexcept { ++images_; }

private:
  using clock = std::chrono::steady_clock;

  struct part {
    clock::duration time{0};
    std::int64_t laps = 0;
  };

  std::array<part, num_decode_parts> parts_{};
  std::uint64_t images_ = 0;
  clock::time_point last_;
  /// Cost of reading the clock, in nanoseconds.
  double cost_ = 0;
};

} // namespace leat
