#include "tools/leat/contact_sheet.hpp"

#include <algorithm>

namespace leat::command {

namespace {

constexpr std::size_t channels = 3;
constexpr std::uint8_t grey = 128;

} // namespace

contact_sheet::contact_sheet(std::size_t image_width, std::size_t image_height,
                             std::span<const std::span<const std::uint8_t>> images)
    : width(std::min(columns, images.size()) * (image_width + gap) + gap),
      height((images.size() + columns - 1) / columns * (image_height + gap) + gap),
      pixels(width * height * channels, grey) {
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto left = gap + i % columns * (image_width + gap);
    const auto top = gap + i / columns * (image_height + gap);
    const auto row_bytes = image_width * channels;
    for (std::size_t y = 0; y < image_height; ++y)
      std::copy_n(images[i].begin() + static_cast<std::ptrdiff_t>(y * row_bytes), row_bytes,
                  pixels.begin()
                      + static_cast<std::ptrdiff_t>(((top + y) * width + left) * channels));
  }
}

} // namespace leat::command
