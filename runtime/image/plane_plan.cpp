#include "runtime/image/plane_plan.hpp"

#include <algorithm>

namespace leat {

plane_form plane_form_of(const jpeg_frame& frame, std::size_t component) {
  const auto& x = frame.components[component];
  plane_form form{.across = frame.across / x.across,
                  .down = frame.down / x.down,
                  .size = frame.coded_size(component)};
  form.each = jpeg_frame::block / x.samples;
  const bool by_two_at_most = form.across <= 2 && form.down <= 2;
  const bool is_smooth = by_two_at_most && (form.across == 1 || form.size.width > 2);
  form.smooth_across = is_smooth && form.across == 2;
  form.smooth_down = is_smooth && form.down == 2;
  return form;
}

resample_kernels::colours colour_of(const jpeg_frame& frame) {
  switch (frame.colour) {
  case jpeg_frame::colours::gray:
    return resample_kernels::colours::gray;
  case jpeg_frame::colours::rgb:
    return resample_kernels::colours::rgb;
  default:
    return resample_kernels::colours::ycc;
  }
}

mcu_rect mcus_needed(const plane_resampler& of, const jpeg_frame& frame) {
  std::size_t left = ~std::size_t{0};
  std::size_t top = ~std::size_t{0};
  std::size_t right = 0;
  std::size_t bottom = 0;
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto samples = of.needed(c);
    const auto& x = frame.components[c];
    left = std::min(left, samples.x / x.mcu_width());
    top = std::min(top, samples.y / x.mcu_height());
    right = std::max(right, (samples.x + samples.width - 1) / x.mcu_width());
    bottom = std::max(bottom, (samples.y + samples.height - 1) / x.mcu_height());
  }
  return {left, top, right - left + 1, bottom - top + 1};
}

} // namespace leat
