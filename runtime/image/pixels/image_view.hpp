#pragma once

#include <leat/resize_plan.hpp>

#include <cstddef>

namespace leat {

/// What an image looks like after crops, one resize and flips, none of which has been done yet:
/// they become one resampling.
class image_view {
public:
  explicit image_view(const image_size& image)
      : plan_{.source = {0, 0, image.width, image.height},
              .resized = image,
              .window = {0, 0, image.width, image.height}} {}

  image_size size() const noexcept { return {plan_.window.width, plan_.window.height}; }
  const resize_plan& plan() const noexcept { return plan_; }
  /// Whether it looks as the image does.
  bool is_untouched() const noexcept { return is_untouched_; }
  /// Whether nothing has been resized yet.
  bool can_resize() const noexcept { return !is_resized_; }

  /// Keeps a part, within the size. Before a resize, that sees nothing else.
  void crop(const pixel_rect& part) noexcept;
  /// Once.
  void resize(const image_size& to) noexcept;
  void mirror() noexcept {
    plan_.mirrored = !plan_.mirrored;
    is_untouched_ = false;
  }

private:
  resize_plan plan_;
  bool is_resized_ = false;
  bool is_untouched_ = true;
};

/// What evaluation usually does: resize the shorter side, take the middle size x size.
resize_plan central_view(const image_size& image, std::size_t shorter, std::size_t size);

} // namespace leat
