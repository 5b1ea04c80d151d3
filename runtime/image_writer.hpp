#pragma once

#include <leat/image.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// Turns rows of uint8 R, G, B into rows of the field "image", in the type and layout of the
/// options.
class image_writer {
public:
  explicit image_writer(const image_options& options);

  /// Shape of the field.
  shape dims() const;
  dtype type() const noexcept { return type_; }

  /// Writes row y of `image`, which has shape dims(). `rgb`: 3 bytes for each of its pixels.
  void write(std::byte* image, std::size_t y, std::span<const std::uint8_t> rgb) const;

private:
  std::size_t size_;
  dtype type_;
  image_layout layout_;
  /// (value / 255 - mean) / deviation of each channel, in float as torchvision computes it.
  std::array<std::array<float, 256>, 3> normalised_{};
};

} // namespace leat
