#pragma once

#include "runtime/base/aligned_vector.hpp"

#include <leat/tensor.hpp>
#include <leat/transforms.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat {

/// The inner loops of resampling, with the vectors of this processor. All variants give the same
/// bits: they use whole numbers throughout, and floats that are made from them by one product and
/// one sum.
///
/// Narrowed rows hold 16-bit sums of samples, with `narrowed_bits` bits after the point, in the
/// order of lanes that the loops make together: `lanes` outputs at once.
struct resample_kernels {
  static constexpr int narrowed_bits = 7;

  /// Sums of samples along a row, four outputs by one look at 16 samples.
  struct narrow_table {
    /// For each four outputs, where their samples begin in a row.
    std::vector<std::size_t> base;
    /// Pairs of taps; for each half of `lanes` outputs, each pair: which sample goes to which lane,
    /// as bytes of 16-bit lanes, and its weight.
    std::size_t pairs = 0;
    aligned_vector<std::uint8_t> samples;
    aligned_vector<std::int16_t> weights;
  };
  /// A table for outputs that each stand for many samples: eight taps per step.
  struct wide_table {
    std::size_t steps = 0;
    std::vector<std::size_t> base;
    aligned_vector<std::int16_t> weights;
  };

  /// One row of one plane for a row of pixels: `pairs` times two narrowed rows, with weights in the
  /// low and the high half of a word.
  struct row_sum {
    const std::int16_t* const* rows = nullptr;
    const std::int32_t* weights = nullptr;
    std::size_t pairs = 0;
  };
  enum class colours : std::uint8_t { gray, ycc, rgb };
  struct pixel_row {
    std::array<row_sum, 3> planes;
    colours colour = colours::ycc;
    dtype type = dtype::f32;
    image_layout layout = image_layout::nchw;
    /// Floats are value * scale + offset, value from 0 to 255 * 2^20.
    std::array<float, 3> scale{};
    std::array<float, 3> offset{};
    std::size_t width = 0;
    /// First byte of the row; of planes, those of the first.
    std::byte* to = nullptr;
    /// Bytes from plane to plane.
    std::size_t plane_bytes = 0;
  };

  static constexpr int pixel_bits = 20;

  std::size_t lanes = 0;
  /// Narrow `rows` rows. Outputs after the last one are made up to a multiple of `lanes`.
  void (*narrow)(const narrow_table& table, const std::uint8_t* from, std::size_t stride,
                 std::size_t rows, std::int16_t* const* to) = nullptr;
  void (*narrow_wide)(const wide_table& table, const std::uint8_t* from, std::size_t stride,
                      std::size_t rows, std::int16_t* const* to) = nullptr;
  /// Sums narrowed rows to a row of pixels, and writes it.
  void (*write)(const pixel_row& row) = nullptr;

  /// The fastest of those that this processor has.
  static resample_kernels best();

  /// Where output i stands in a narrowed row.
  std::size_t lane_of(std::size_t i) const noexcept {
    const auto half = lanes / 2;
    const auto within = i % lanes;
    return i - within + within % half / 4 * 8 + within / half * 4 + within % 4;
  }
};

} // namespace leat
