#include "runtime/image/jpeg/dct_scale.hpp"

namespace leat {

namespace {

bool is_large_enough(std::size_t extent, std::size_t eighths, std::size_t resized) noexcept {
  return 2 * extent * eighths >= dct_ratio_halves * resized * jpeg_frame::block;
}

} // namespace

std::size_t dct_scale_for(const resize_plan& what) noexcept {
  std::size_t eighths = 1;
  while (eighths < jpeg_frame::block
         && !(is_large_enough(what.source.width, eighths, what.resized.width)
              && is_large_enough(what.source.height, eighths, what.resized.height)))
    eighths *= 2;
  return eighths;
}

jpeg_frame scaled(jpeg_frame frame, std::size_t eighths) noexcept {
  frame.samples = eighths;
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    auto& x = frame.components[c];
    x.samples = eighths;
    while (x.samples < jpeg_frame::block && frame.mcu_width() % (2 * x.mcu_width()) == 0
           && frame.mcu_height() % (2 * x.mcu_height()) == 0)
      x.samples *= 2;
  }
  return frame;
}

} // namespace leat
