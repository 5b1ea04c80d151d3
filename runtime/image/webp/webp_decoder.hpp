#pragma once

#include "runtime/image/pixels/rgb_view.hpp"

#include <leat/resize_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// Decodes WebPs, one after the other, with libwebp, lossy ones and lossless ones. Keeps its pixel
/// buffer; no image leaves a trace in the next one. Used by one thread at a time.
///
/// Pixels are libwebp's own, which are the same on every processor: chroma is interpolated, alpha
/// is dropped, not blended. Orientation, profiles and all other metadata are ignored.
///
/// Bad content throws `bad_sample`: truncated (the file ends before its header says), corrupt,
/// unsupported (an animation), too_large. What follows the image does not matter.
class webp_decoder {
public:
  /// Reads the header of a whole file that begins with WebP's mark, and borrows it until it was
  /// decoded. More than `max_pixels` (width times height) are too_large; nothing is allocated for
  /// them.
  image_size open(std::span<const std::byte> file, std::size_t max_pixels);

  /// All pixels of the opened file; borrowed until the next call of any member.
  rgb_view decode();

private:
  std::span<const std::byte> file_;
  image_size size_;
  std::vector<std::uint8_t> pixels_;
};

} // namespace leat
