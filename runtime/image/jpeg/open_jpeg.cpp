#include "runtime/image/jpeg/open_jpeg.hpp"

#include "runtime/image/image_format.hpp"

#include <leat/bad_sample.hpp>

#include <new>
#include <string>

namespace leat {

namespace {

void check_is_jpeg(std::span<const std::byte> file) {
  if (file.empty())
    throw bad_sample(cause::empty, "JPEG: 0 bytes");
  const auto name = image_format(file);
  if (name == "JPEG")
    return;
  if (!name.empty())
    throw bad_sample(cause::unsupported,
                     "a " + std::string{name} + " file; needed: JPEG, PNG or WebP");
  if (const auto what = what_is_no_image(file); !what.empty())
    throw bad_sample(cause::corrupt, what + ", which is no image");
}

/// Whatever follows the last end marker does not matter.
bool has_end_marker(std::span<const std::byte> scan) {
  for (std::size_t i = scan.size(); i >= 2; --i)
    if (scan[i - 1] == std::byte{0xD9} && scan[i - 2] == std::byte{0xFF})
      return true;
  return false;
}

} // namespace

void throw_bad_jpeg(const jpeg_session& session) {
  if (session.lacks_memory())
    throw std::bad_alloc{};
  throw bad_sample(session.why(), std::string{"JPEG: "} + session.text());
}

void open_jpeg(jpeg_session& session, std::span<const std::byte> file, std::size_t max_pixels) {
  check_is_jpeg(file);
  if (!session.open(file))
    throw_bad_jpeg(session);
  const auto size = session.size();
  if (size.width * size.height > max_pixels)
    throw bad_sample(cause::too_large, "JPEG: " + std::to_string(size.width) + " x "
                                           + std::to_string(size.height) + " pixels, limit "
                                           + std::to_string(max_pixels));
  if (!has_end_marker(session.unread()))
    throw bad_sample(cause::truncated,
                     "JPEG: no end marker in " + std::to_string(file.size()) + " bytes");
}

} // namespace leat
