#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// Name of the image format whose mark a file begins with: "JPEG", "PNG", "GIF", "WebP", "BMP",
/// "TIFF", "JPEG 2000", "JPEG XL" or "HEIF or AVIF"; empty for anything else.
std::string_view image_format(std::span<const std::byte> file);

/// What the bytes of a file are that has no such mark, for errors: "text", "a page of HTML". Empty
/// where that is not known.
std::string what_is_no_image(std::span<const std::byte> file);

} // namespace leat
