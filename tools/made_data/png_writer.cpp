#include "tools/made_data/png_writer.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/durable_file.hpp"

#include <png.h>

#include <string>
#include <string_view>

namespace leat {

void write_png(const std::filesystem::path& path, std::size_t width, std::size_t height,
               std::span<const std::uint8_t> rgb) {
  if (rgb.empty() || rgb.size() != width * height * 3)
    throw_file_error(errc::invalid_argument, "write_png", path.string(),
                     std::to_string(rgb.size()) + " bytes",
                     std::to_string(width) + " x " + std::to_string(height) + " x 3");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, rgb.data(), 0, nullptr) == 0)
    throw error(errc::io, {.stage = "write_png", .file = path.string(), .got = image.message});
  write_output(path, std::string_view{bytes}.substr(0, size), "write_png");
}

void write_png(const std::filesystem::path& path, const rgb_image& image) {
  write_png(path, image.width, image.height, image.pixels);
}

} // namespace leat
