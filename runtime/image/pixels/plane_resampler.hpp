#pragma once

#include "runtime/base/aligned_vector.hpp"
#include "runtime/image/pixels/axis_weights.hpp"
#include "runtime/image/pixels/resample_kernels.hpp"

#include <leat/resize_plan.hpp>
#include <leat/tensor_form.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// A plane of samples, of which one may stand for several pixels, or of which only means are known.
struct plane_form {
  /// Pixels for a sample, across and down.
  std::size_t across = 1;
  std::size_t down = 1;
  /// Whether it is enlarged smoothly (ratios of 1 and 2); else samples are repeated.
  bool smooth_across = false;
  bool smooth_down = false;
  image_size size;
  /// There are not the samples, but the means of so many neighbours, each way.
  std::size_t each = 1;
};

/// Samples of a plane: columns x .. x+width-1, rows y .. y+height-1.
using plane_rect = pixel_rect;

/// Makes pixels of planes in one pass: enlarges chroma, resizes (antialiased bilinear), converts to
/// R, G, B, normalises, and writes them where they belong. Rows of samples come from the top down,
/// and rows of pixels go as soon as they can.
/// Enlarging is a part of the resizing, and colours are converted afterwards: both are sums of
/// products, so that their order matters only to rounding and to colours outside 0 .. 255.
/// Keeps its buffers from image to image; used by one thread at a time.
class plane_resampler {
public:
  explicit plane_resampler(const resample_kernels& kernels = resample_kernels::best())
      : kernels_(kernels) {}

  /// Prepares for an image of one to three planes.
  void plan(const resize_plan& what, std::span<const plane_form> planes,
            resample_kernels::colours colour);
  /// The samples that are needed of a plane.
  plane_rect needed(std::size_t plane) const noexcept;

  /// Says how a plane's rows will come: `first_column` is their first sample, and at most `rows` of
  /// them come at once.
  void expect(std::size_t plane, std::size_t first_column, std::size_t rows);
  /// Begins with the first row of pixels.
  void begin(const tensor_form& form, std::byte* image);
  /// Takes rows first_row .. first_row+rows-1 of a plane; rows that are not needed are ignored.
  /// `slack` bytes after each needed sample can be read. Call `flush` before the next rows of the
  /// plane.
  void load(std::size_t plane, const std::uint8_t* from, std::size_t stride, std::size_t first_row,
            std::size_t rows);
  /// Writes the rows of pixels that can be made. True: all are written.
  bool flush();

  static constexpr std::size_t slack = 16;

private:
  struct axis {
    axis_weights enlarged;
    axis_weights reduced;
    fixed_weights fixed;

    void plan(const axis_weights& pixels, std::size_t ratio, bool smooth, std::size_t samples,
              std::size_t each);
  };
  struct plane {
    /// Own ones, or those of an earlier plane.
    std::size_t columns = 0;
    std::size_t rows = 0;
    std::size_t first_column = 0;
    std::size_t loaded = 0;
    std::size_t end = 0;
    std::size_t mask = 0;
    aligned_vector<std::int16_t> ring;
  };

  void build_narrow_table(std::size_t plane, std::size_t first_column);
  void build_wide_table(std::size_t plane, std::size_t first_column);
  bool is_ready(std::size_t y) const noexcept;
  void write_row(std::size_t y);

  resample_kernels kernels_;
  resize_plan what_;
  std::size_t num_planes_ = 0;
  resample_kernels::colours colour_ = resample_kernels::colours::rgb;
  std::array<plane_form, 3> forms_;
  std::array<plane, 3> planes_;
  /// Weights of pixels, and from them those of planes that have fewer samples.
  axis_weights pixels_across_;
  axis_weights pixels_down_;
  std::array<axis, 3> columns_;
  std::array<axis, 3> rows_;
  struct tables {
    bool is_wide = false;
    resample_kernels::narrow_table narrow;
    resample_kernels::wide_table wide;
  };
  std::array<tables, 3> tables_;

  /// What all rows of pixels share.
  resample_kernels::pixel_row row_;
  struct target {
    std::byte* image = nullptr;
    /// The next row of it.
    std::size_t next = 0;
  } target_;
  std::array<std::vector<const std::int16_t*>, 3> tap_rows_;
  std::array<std::vector<std::int32_t>, 3> tap_weights_;
};

} // namespace leat
