#pragma once

#include "runtime/image/jpeg/jpeg_decoder.hpp"
#include "runtime/image/jpeg/plane_decoder.hpp"
#include "runtime/image/pixels/plane_resampler.hpp"
#include "runtime/image/pixels/reference_resampler.hpp"
#include "runtime/image/png/png_decoder.hpp"
#include "runtime/image/webp/webp_decoder.hpp"

#include <leat/decode_times.hpp>
#include <leat/resize_plan.hpp>
#include <leat/tensor_form.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// Makes resized pixels of image files, one after the other, decoding as little of each as they
/// need. Keeps its buffers; no file leaves a trace in the next one. Used by one thread at a time.
///
/// Pixels depend on the file and the plan alone: not on the processor, nor on which way a JPEG was
/// decoded, nor on whether the places of its MCU rows were known.
/// Bad content throws `bad_sample`: empty, truncated (no end marker, or headers cut short),
/// corrupt, unsupported (another format, 12-bit, lossless), too_large. Damage of a JPEG counts from
/// the top down to the last MCU row that the pixels need (of some grayscale files, to the last of
/// those that libjpeg decodes with it), and below nothing is looked at; which row is the last may
/// differ by one between `make` and `make_exact`. Where a damaged file passes for good and its
/// coefficients overflow, its pixels are those of libjpeg-turbo, which on ARM may be others than on
/// x86.
class image_reader {
public:
  /// Which ways may be gone; fewer than all for tests and measurements.
  struct ways {
    bool own_scan_decoder = true;
    inverse_dct transform = inverse_dct::best();
    resample_kernels kernels = resample_kernels::best();
  };

  image_reader() : image_reader(ways{}) {}
  explicit image_reader(const ways& allowed);

  /// Adds its time by part to `to` from now on, which is borrowed; null: no longer.
  void time(decode_times* to) noexcept;

  /// Takes a whole file, borrowed until its pixels were made. More than `max_pixels` (width times
  /// height) are too_large; nothing is allocated for them.
  /// `places`: where the MCU rows of a JPEG begin, where that is known; borrowed likewise.
  image_size open(std::span<const std::byte> file, std::size_t max_pixels,
                  std::span<const scan_place> places = {});

  /// Makes the opened file's pixels, window.width x window.height x 3 elements. Once for each
  /// `open`.
  void make(const resize_plan& what, const tensor_form& form, std::byte* to);
  /// Makes the image by a full decode of all rows that are needed and a resize in double precision.
  /// This is the reference, from which `make` differs by less than 0.5 of 255 on average. It never
  /// decodes an image at a reduced size, as `make` does (`dct_scale_for`); if a row or a column is
  /// made into fewer than 24 pixels, the two may differ by more.
  void make_exact(const resize_plan& what, const tensor_form& form, std::byte* to);

  bool is_jpeg() const noexcept { return kind_ == kind::jpeg_planes || kind_ == kind::jpeg_rows; }
  /// The opened file as it is decoded for such pixels, in place of `make`; null where it is no JPEG
  /// whose pixels are sums of products of its planes' samples. Borrowed until the next `open`.
  const jpeg_frame* frame_for(const resize_plan& what);

  /// Whether leat's own JPEG decoder made the opened file's pixels, once `make` made them.
  bool went_own_way() const noexcept {
    return kind_ == kind::jpeg_planes && planes_.last_way() == plane_decoder::way::own;
  }

private:
  /// What the opened file is.
  enum class kind : std::uint8_t {
    png,
    webp,
    /// A JPEG whose pixels are sums of products of its planes' samples.
    jpeg_planes,
    /// Any other.
    jpeg_rows,
  };

  void make_jpeg(const resize_plan& what, const tensor_form& form, std::byte* to);
  bool make_planes(plane_decoder::way by, const tensor_form& form, std::byte* to);
  void make_rows(const tensor_form& form, std::byte* to);
  void load_rows(const rgb_view& rows, std::size_t first_row);
  template <class Take>
  void read_rows(const pixel_rect& part, Take take);

  bool own_scan_decoder_;
  kind kind_ = kind::png;
  std::span<const std::byte> file_;
  std::size_t max_pixels_ = 0;
  image_size size_;
  std::span<const scan_place> places_;
  jpeg_frame frame_;
  plane_decoder planes_;
  plane_resampler resampler_;
  jpeg_decoder rows_;
  /// Formats of which all pixels are decoded.
  struct {
    png_decoder png;
    webp_decoder webp;
  } whole_;
  /// Rows of R, of G, of B.
  std::vector<std::uint8_t> split_rows_;
  reference_resampler reference_;
  decode_times* times_ = nullptr;
};

} // namespace leat
