#include "runtime/image/webp/webp_decoder.hpp"

#include <leat/bad_sample.hpp>

#include <webp/decode.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

namespace leat {

namespace {

/// "RIFF", and the length of what comes after these 8 bytes.
constexpr std::size_t container_header = 8;

const std::uint8_t* bytes_of(std::span<const std::byte> file) {
  return reinterpret_cast<const std::uint8_t*>(file.data());
}

void check_whole(std::span<const std::byte> file) {
  std::size_t stated = 0;
  for (std::size_t i = container_header; i > container_header / 2; --i)
    stated = stated << 8 | std::to_integer<std::size_t>(file[i - 1]);
  stated += container_header;
  if (file.size() < stated)
    throw bad_sample(cause::truncated, "WebP: " + std::to_string(file.size()) + " bytes of "
                                           + std::to_string(stated));
}

void check(VP8StatusCode status) {
  switch (status) {
  case VP8_STATUS_OK:
    return;
  case VP8_STATUS_OUT_OF_MEMORY:
    throw std::bad_alloc{};
  case VP8_STATUS_NOT_ENOUGH_DATA:
  case VP8_STATUS_SUSPENDED:
    throw bad_sample(cause::truncated, "WebP: the image's data end too early");
  case VP8_STATUS_UNSUPPORTED_FEATURE:
    throw bad_sample(cause::unsupported, "WebP: a feature that libwebp does not decode");
  default:
    throw bad_sample(cause::corrupt, "WebP: damaged data");
  }
}

} // namespace

image_size webp_decoder::open(std::span<const std::byte> file, std::size_t max_pixels) {
  WebPBitstreamFeatures features;
  check(::WebPGetFeatures(bytes_of(file), file.size(), &features));
  if (features.has_animation != 0)
    throw bad_sample(cause::unsupported, "an animated WebP; needed: one image per file");
  check_whole(file);
  file_ = file;
  size_ = {static_cast<std::size_t>(features.width), static_cast<std::size_t>(features.height)};
  if (size_.width * size_.height > max_pixels)
    throw bad_sample(cause::too_large, "WebP: " + std::to_string(size_.width) + " x "
                                           + std::to_string(size_.height) + " pixels, limit "
                                           + std::to_string(max_pixels));
  return size_;
}

rgb_view webp_decoder::decode() {
  const std::size_t stride = 3 * size_.width;
  pixels_.resize(std::max(pixels_.size(), stride * size_.height + rgb_slack));
  WebPDecoderConfig config;
  if (::WebPInitDecoderConfig(&config) == 0)
    throw std::runtime_error("libwebp is of another version than its headers were");
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {
      .rgba = pixels_.data(), .stride = static_cast<int>(stride), .size = stride * size_.height};
  check(::WebPDecode(bytes_of(file_), file_.size(), &config));
  return {pixels_.data(), size_.width, size_.height, stride};
}

} // namespace leat
