#pragma once

#include "tools/made_data/rgb_image.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace leat {

/// Writes an 8-bit RGB image as PNG. `rgb`: uint8 [height, width, 3], row-major, borrowed.
/// Throws `leat::error`: invalid_argument when sizes do not fit, io with libpng's text.
void write_png(const std::filesystem::path& path, std::size_t width, std::size_t height,
               std::span<const std::uint8_t> rgb);

void write_png(const std::filesystem::path& path, const rgb_image& image);

} // namespace leat
