#include "runtime/image_writer.hpp"

namespace leat {

namespace {

/// Spreads one row over three planes, or over neighbouring elements.
template <class T, class Convert>
void spread(T* image, image_layout layout, std::size_t size, std::size_t y,
            std::span<const std::uint8_t> rgb, Convert convert) {
  const bool planes = layout == image_layout::nchw;
  T* row = image + y * size * (planes ? 1 : 3);
  if (planes) {
    const std::size_t plane = size * size;
    for (std::size_t x = 0; x < size; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        row[c * plane + x] = convert(c, rgb[3 * x + c]);
  } else {
    for (std::size_t x = 0; x < size; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        row[3 * x + c] = convert(c, rgb[3 * x + c]);
  }
}

} // namespace

image_writer::image_writer(const image_options& options)
    : size_(options.size), type_(options.type), layout_(options.layout) {
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t v = 0; v < 256; ++v)
      normalised_[c][v] = (static_cast<float>(v) / 255.0F - options.mean[c]) / options.deviation[c];
}

shape image_writer::dims() const {
  return layout_ == image_layout::nchw ? shape{3, size_, size_} : shape{size_, size_, 3};
}

void image_writer::write(std::byte* image, std::size_t y, std::span<const std::uint8_t> rgb) const {
  if (type_ == dtype::u8)
    spread(reinterpret_cast<std::uint8_t*>(image), layout_, size_, y, rgb,
           [](std::size_t, std::uint8_t v) { return v; });
  else
    spread(reinterpret_cast<float*>(image), layout_, size_, y, rgb,
           [this](std::size_t c, std::uint8_t v) { return normalised_[c][v]; });
}

} // namespace leat
