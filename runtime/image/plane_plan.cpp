#include "runtime/image/plane_plan.hpp"

namespace leat {

bool has_planes(const jpeg_frame& frame) noexcept {
  if (frame.colour == jpeg_frame::colours::other)
    return false;
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto& x = frame.components[c];
    if (frame.across % x.across != 0 || frame.down % x.down != 0)
      return false;
  }
  return true;
}

plane_form plane_form_of(const jpeg_frame& frame, std::size_t component) noexcept {
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

resample_kernels::colours colour_of(const jpeg_frame& frame) noexcept {
  switch (frame.colour) {
  case jpeg_frame::colours::gray:
    return resample_kernels::colours::gray;
  case jpeg_frame::colours::rgb:
    return resample_kernels::colours::rgb;
  default:
    return resample_kernels::colours::ycc;
  }
}

} // namespace leat
