#include "runtime/image/image_format.hpp"

#include "runtime/storage/file_kind.hpp"

namespace leat {

namespace {

bool begins(std::string_view file, std::string_view magic, std::size_t at = 0) {
  return file.size() >= at && file.substr(at).starts_with(magic);
}

} // namespace

std::string_view image_format(std::span<const std::byte> bytes) {
  using namespace std::string_view_literals;
  const std::string_view file{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  if (begins(file, "\xff\xd8\xff"sv))
    return "JPEG";
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

std::string what_is_no_image(std::span<const std::byte> file) {
  constexpr std::size_t least = 16; // of fewer bytes, those of a JPEG that was cut may be text
  return file.size() < least ? std::string{} : kind_of_file({}, file).what;
}

} // namespace leat
