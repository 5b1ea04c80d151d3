#pragma once

#include "runtime/pixels/pixel_rect.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// How the outputs of one axis are weighted sums of its inputs: antialiased bilinear (a triangle as
/// wide as an output pixel, at least 2 inputs).
/// Output i is the sum of weights[i * taps + t] * input[first[i] + t] over t, plus one half,
/// shifted right by `weight_bits`. Weights may stand behind the last input; they are zero there.
/// Source: precompute_coeffs and normalize_coeffs_8bpc in Pillow's src/libImaging/Resample.c.
struct resample_axis {
  static constexpr int weight_bits = 22;
  /// Each weight is high * 2^split_bits + low, both of which fit 16 bits.
  static constexpr int split_bits = 11;

  /// Two neighbouring taps; the even one in the low 16 bits.
  struct tap_pair {
    std::uint32_t high;
    std::uint32_t low;
  };

  /// Weights of each output, a multiple of the granularity.
  std::size_t taps = 0;
  std::vector<std::size_t> first;
  std::vector<std::int32_t> weights;
  /// The same weights, taps / 2 pairs for each output.
  std::vector<tap_pair> pairs;

  /// Plans outputs begin .. end-1 of `out` from `in` inputs.
  void plan(std::size_t in, std::size_t out, std::size_t begin, std::size_t end,
            std::size_t granularity);
  /// Turns the order of outputs round.
  void mirror();
  /// The inputs that are needed: low .. high-1.
  std::size_t low() const noexcept;
  std::size_t high(std::size_t in) const noexcept;
};

/// The two inner loops. All variants give the same bits.
struct resample_kernels {
  static constexpr std::size_t column_step = 16;

  /// Writes 3 * axis.first.size() bytes from a row whose pixel 0 is input `origin`, and may write
  /// one more. For two rows at once.
  void (*rows)(const resample_axis& axis, std::size_t origin, const std::uint8_t* const in[2],
               std::uint8_t* const out[2]);
  /// Writes output `i`, `bytes` long, from rows of that length: a multiple of `column_step`.
  void (*column)(const resample_axis& axis, std::size_t i, const std::uint8_t* const* in,
                 std::size_t bytes, std::uint8_t* out);
};

resample_kernels plain_resample_kernels() noexcept;
/// Those for AVX2 where the processor has it.
resample_kernels best_resample_kernels() noexcept;

/// Resizes a part of an image, row by row. Results are those of Pillow's
/// `crop(source).resize(resized, BILINEAR).crop(window)`, bit for bit, up to Pillow 12: rows first,
/// rounded, then columns. Pillow 13 does columns first where only the height shrinks (and in some
/// like cases), and so rounds otherwise there.
/// Keeps its buffers from image to image; used by one thread at a time.
class resampler {
public:
  explicit resampler(resample_kernels kernels = best_resample_kernels()) noexcept
      : kernels_(kernels) {}

  /// Prepares for `source` (a part of an image) to be resized to `resized`, of which `window` is
  /// wanted, mirrored left to right or not. Returns the part of the image that is needed: within
  /// `source`.
  pixel_rect plan(const pixel_rect& source, const image_size& resized, const pixel_rect& window,
                  bool mirrored);

  /// Takes the next rows of what `plan` asked for, from the top down: an even number of them, or
  /// all that are left. They are not needed afterwards.
  void load(const rgb_view& rows);

  /// Row y of the window, 3 bytes a pixel. Borrowed until the next call.
  std::span<const std::uint8_t> row(std::size_t y);

private:
  resample_kernels kernels_;
  resample_axis columns_;
  resample_axis rows_;
  std::size_t origin_x_ = 0;
  std::size_t origin_y_ = 0;
  std::size_t loaded_rows_ = 0;
  /// Rows as wide as the window and as high as the needed part.
  std::vector<std::uint8_t> narrowed_;
  std::size_t narrowed_stride_ = 0;
  std::vector<const std::uint8_t*> row_taps_;
  std::vector<std::uint8_t> row_;
};

} // namespace leat
