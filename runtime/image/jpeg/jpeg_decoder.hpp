#pragma once

#include "runtime/image/pixels/rgb_view.hpp"

#include <leat/resize_plan.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace leat {

/// Decodes JPEGs, whole or in part, one after the other, with libjpeg-turbo, strip by strip. Keeps
/// its strip buffer; no image leaves a trace in the next one. Used by one thread at a time.
///
/// Pixels are those of a full decode with libjpeg's defaults (accurate integer DCT, smooth
/// upsampling), whatever part is asked for; grayscale becomes R = G = B, and CMYK is taken as
/// inverted and converted as Pillow does. EXIF orientation and colour profiles are ignored, also as
/// in Pillow.
///
/// Bad content throws `bad_sample`: empty, truncated (no end marker, or headers cut short), corrupt
/// (with libjpeg's text), unsupported (12-bit, lossless, another image format), too_large. Damage
/// is found only in what is decoded: below a part's last row nothing is looked at.
class jpeg_decoder {
public:
  jpeg_decoder();
  ~jpeg_decoder();
  jpeg_decoder(jpeg_decoder&&) noexcept;
  jpeg_decoder& operator=(jpeg_decoder&&) noexcept;

  /// Reads the headers of a whole file, which is borrowed until its last rows were taken.
  /// More than `max_pixels` (width times height) are too_large; nothing is allocated for them.
  image_size open(std::span<const std::byte> file, std::size_t max_pixels);

  /// Begins with a part of the opened file: at least one pixel, within the image. Once for each
  /// `open`.
  void start(const pixel_rect& part);

  /// The part's next rows, from the top down: `strip_rows` of them, fewer at its end, none after
  /// it. Borrowed until the next call of any member. A strip fits into the cache, whatever the
  /// image's size.
  rgb_view next_rows();

  static constexpr std::size_t strip_rows = 16;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace leat
