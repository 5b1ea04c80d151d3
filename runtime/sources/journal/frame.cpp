#include "runtime/sources/journal/frame.hpp"

#include "runtime/base/xxh3.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace leat {

namespace {

static_assert(std::endian::native == std::endian::little, "journals are little-endian");

struct frame_header {
  std::uint64_t length;
  std::uint64_t header_sum;
  std::uint64_t content_sum;
};
static_assert(sizeof(frame_header) == frame_header_bytes);

frame_header header_at(std::span<const std::byte, frame_header_bytes> bytes) {
  frame_header x;
  std::memcpy(&x, bytes.data(), sizeof x);
  return x;
}

std::uint64_t sum_of(std::uint64_t number, std::uint64_t length) {
  const std::array both{number, length};
  return xxh3_64(std::as_bytes(std::span{both}));
}

} // namespace

std::string make_frame(std::uint64_t number, std::string_view content) {
  const frame_header header{content.size(), sum_of(number, content.size()),
                            xxh3_64(std::as_bytes(std::span{content}))};
  std::string frame;
  frame.reserve(sizeof header + content.size());
  frame.append(reinterpret_cast<const char*>(&header), sizeof header);
  frame += content;
  return frame;
}

std::optional<std::uint64_t> content_bytes(std::span<const std::byte, frame_header_bytes> header,
                                           std::uint64_t number) {
  const auto x = header_at(header);
  if (x.header_sum != sum_of(number, x.length))
    return std::nullopt;
  return x.length;
}

bool is_content_of(std::span<const std::byte, frame_header_bytes> header,
                   std::span<const std::byte> content) {
  const auto x = header_at(header);
  return x.length == content.size() && x.content_sum == xxh3_64(content);
}

} // namespace leat
