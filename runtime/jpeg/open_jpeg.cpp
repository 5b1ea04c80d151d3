#include "runtime/jpeg/open_jpeg.hpp"

#include <leat/bad_sample.hpp>

#include <string>
#include <string_view>

namespace leat {

namespace {

bool begins(std::string_view file, std::string_view magic, std::size_t at = 0) {
  return file.size() >= at && file.substr(at).starts_with(magic);
}

/// Name of another image format; empty for anything else.
std::string_view other_format(std::string_view file) {
  using namespace std::string_view_literals;
  if (begins(file, "\x89PNG"sv))
    return "PNG";
  if (begins(file, "GIF8"sv))
    return "GIF";
  if (begins(file, "RIFF"sv) && begins(file, "WEBP"sv, 8))
    return "WebP";
  if (begins(file, "BM"sv))
    return "BMP";
  if (begins(file, "II*\0"sv) || begins(file, "MM\0*"sv))
    return "TIFF";
  if (begins(file, "\0\0\0\x0cjP  "sv) || begins(file, "\xff\x4f\xff\x51"sv))
    return "JPEG 2000";
  if (begins(file, "\0\0\0\x0cJXL "sv) || begins(file, "\xff\x0a"sv))
    return "JPEG XL";
  if (begins(file, "ftyp"sv, 4))
    return "HEIF or AVIF";
  return {};
}

void check_format(std::span<const std::byte> file) {
  if (file.empty())
    throw bad_sample(cause::empty, "JPEG: 0 bytes");
  const auto name = other_format({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!name.empty())
    throw bad_sample(cause::unsupported, "a " + std::string{name} + " file, not a JPEG");
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
  throw bad_sample(session.why(), std::string{"JPEG: "} + session.text());
}

void open_jpeg(jpeg_session& session, std::span<const std::byte> file, std::size_t max_pixels) {
  check_format(file);
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
