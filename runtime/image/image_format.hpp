#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace leat {

/// Name of the image format whose mark a file begins with: "JPEG", "PNG", "GIF", "WebP", "BMP",
/// "TIFF", "JPEG 2000", "JPEG XL" or "HEIF or AVIF"; empty for anything else.
std::string_view image_format(std::span<const std::byte> file);

} // namespace leat
