#include "runtime/image/pixels/pad_image.hpp"

#include <algorithm>

namespace leat {

namespace {

/// Rows or columns: how many are put before, and how many there are within.
struct inner_range {
  std::size_t before;
  std::size_t size;
};

/// The row or column of the image that stands at `at` of the padded one; not for `constant`.
std::size_t shown_at(std::size_t at, const inner_range& inner, pad_mode mode) {
  const std::size_t end = inner.before + inner.size;
  if (at >= inner.before && at < end)
    return at - inner.before;
  const bool before = at < inner.before;
  if (mode == pad_mode::edge)
    return before ? 0 : inner.size - 1;
  const std::size_t behind_mirror = before ? inner.before - 1 - at : at - end;
  const std::size_t from_edge = behind_mirror + (mode == pad_mode::reflect ? 1 : 0);
  return before ? from_edge : inner.size - 1 - from_edge;
}

void pad_row(const float* in, std::size_t width, const padding& pad, float* out) {
  const inner_range columns{pad.left, width};
  for (std::size_t x = 0; x < pad.left; ++x)
    out[x] = in[shown_at(x, columns, pad.mode)];
  std::copy_n(in, width, out + pad.left);
  for (std::size_t x = pad.left + width; x < pad.left + width + pad.right; ++x)
    out[x] = in[shown_at(x, columns, pad.mode)];
}

void mirror(const float_image& in, const padding& pad, const float_image& out) {
  const inner_range rows{pad.top, in.height};
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < out.height; ++y)
      pad_row(in.plane(c) + shown_at(y, rows, pad.mode) * in.width, in.width, pad,
              out.plane(c) + y * out.width);
}

void frame(const float_image& in, const padding& pad, const float_image& out) {
  for (std::size_t c = 0; c < 3; ++c) {
    std::fill_n(out.plane(c), out.pixels(), pad.fill[c]);
    for (std::size_t y = 0; y < in.height; ++y)
      std::copy_n(in.plane(c) + y * in.width, in.width,
                  out.plane(c) + (pad.top + y) * out.width + pad.left);
  }
}

} // namespace

image_size padded_size(const image_size& image, const padding& pad) {
  return {pad.left + image.width + pad.right, pad.top + image.height + pad.bottom};
}

bool can_pad(const image_size& image, const padding& pad) {
  if (pad.mode != pad_mode::reflect && pad.mode != pad_mode::symmetric)
    return true;
  const std::size_t kept = pad.mode == pad_mode::reflect ? 1 : 0;
  return std::max(pad.left, pad.right) + kept <= image.width
         && std::max(pad.top, pad.bottom) + kept <= image.height;
}

void pad_image(const float_image& in, const padding& pad, const float_image& out) {
  if (pad.mode == pad_mode::constant)
    frame(in, pad, out);
  else
    mirror(in, pad, out);
}

} // namespace leat
