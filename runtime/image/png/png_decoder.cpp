#include "runtime/image/png/png_decoder.hpp"

#include "runtime/image/image_format.hpp"
#include "runtime/image/png/png_session.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace leat {

namespace {

[[noreturn]] void fail(const png_session& session) {
  if (session.lacks_memory())
    throw std::bad_alloc{};
  throw bad_sample(session.why(), std::string{"PNG: "} + session.text());
}

void check_is_png(std::span<const std::byte> file) {
  if (file.empty())
    throw bad_sample(cause::empty, "PNG: 0 bytes");
  const auto name = image_format(file);
  if (!name.empty() && name != "PNG")
    throw bad_sample(cause::unsupported, "a " + std::string{name} + " file, not a PNG");
}

} // namespace

struct png_decoder::state {
  png_session session;
  std::vector<std::uint8_t> pixels;
};

png_decoder::png_decoder() : state_(std::make_unique<state>()) {}

png_decoder::~png_decoder() = default;

png_decoder::png_decoder(png_decoder&&) noexcept = default;

png_decoder& png_decoder::operator=(png_decoder&&) noexcept = default;

image_size png_decoder::open(std::span<const std::byte> file, std::size_t max_pixels) {
  check_is_png(file);
  auto& session = state_->session;
  if (!session.open(file))
    fail(session);
  const auto size = session.size();
  if (std::max(size.width, size.height) > max_side)
    throw bad_sample(cause::too_large, "PNG: " + std::to_string(size.width) + " x "
                                           + std::to_string(size.height) + " pixels, limit "
                                           + std::to_string(max_side) + " per side");
  if (size.width * size.height > max_pixels)
    throw bad_sample(cause::too_large, "PNG: " + std::to_string(size.width) + " x "
                                           + std::to_string(size.height) + " pixels, limit "
                                           + std::to_string(max_pixels));
  return size;
}

rgb_view png_decoder::decode() {
  auto& [session, pixels] = *state_;
  const auto size = session.size();
  const std::size_t stride = 3 * size.width;
  pixels.resize(std::max(pixels.size(), stride * size.height + rgb_slack));
  if (!session.read(pixels.data()))
    fail(session);
  session.close();
  return {pixels.data(), size.width, size.height, stride};
}

} // namespace leat
