#pragma once

#include "runtime/image/pixels/rgb_view.hpp"

#include <leat/resize_plan.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace leat {

/// Decodes PNGs, one after the other, with libpng. Keeps its pixel buffer; no image leaves a trace
/// in the next one. Used by one thread at a time.
///
/// All colour types, depths and interlaced files become 8-bit R, G, B: palettes are looked up (an
/// index without an entry is black), gray becomes R = G = B and spans 0 to 255 at any depth, of 16
/// bits the high 8 are kept, alpha is dropped, not blended. So does Pillow's convert("RGB"), but
/// for 16-bit gray, where it cuts values above 255. Gamma, profiles and all other metadata are
/// ignored; of an animation its default image is taken.
///
/// Bad content throws `bad_sample`: empty, truncated (the file ends before its end chunk), corrupt
/// (with libpng's text; checksums count in all chunks), unsupported (another image format),
/// too_large. What follows the end chunk does not matter.
class png_decoder {
public:
  /// The limit of JPEG: resizing an image needs memory for each row and column.
  static constexpr std::size_t max_side = 65'535;

  png_decoder();
  ~png_decoder();
  png_decoder(png_decoder&&) noexcept;
  png_decoder& operator=(png_decoder&&) noexcept;

  /// Reads the headers of a whole file, which is borrowed until it was decoded.
  /// More than `max_pixels` (width times height), and more than `max_side` in one line, are
  /// too_large; nothing is allocated for them.
  image_size open(std::span<const std::byte> file, std::size_t max_pixels);

  /// All pixels of the opened file. Once for each `open`; borrowed until the next call of any
  /// member.
  rgb_view decode();

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace leat
