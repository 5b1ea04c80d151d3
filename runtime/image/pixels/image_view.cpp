#include "runtime/image/pixels/image_view.hpp"

#include "runtime/image/pixels/crop.hpp"

namespace leat {

void image_view::crop(const pixel_rect& part) noexcept {
  is_untouched_ = false;
  auto& window = plan_.window;
  // Columns are counted before they are mirrored.
  const auto left = plan_.mirrored ? window.width - part.x - part.width : part.x;
  if (is_resized_) {
    window = {window.x + left, window.y + part.y, part.width, part.height};
    return;
  }
  plan_.source = {plan_.source.x + left, plan_.source.y + part.y, part.width, part.height};
  plan_.resized = {part.width, part.height};
  window = {0, 0, part.width, part.height};
}

void image_view::resize(const image_size& to) noexcept {
  plan_.resized = to;
  plan_.window = {0, 0, to.width, to.height};
  is_resized_ = true;
  is_untouched_ = false;
}

resize_plan central_view(const image_size& image, std::size_t shorter, std::size_t size) {
  image_view view{image};
  view.resize(resized_to_shorter(image, shorter));
  view.crop(central_part(view.size(), {size, size}));
  return view.plan();
}

} // namespace leat
