#include "runtime/image/jpeg/row_places.hpp"

#include "runtime/base/xxh3.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace leat {

namespace {

constexpr std::size_t place_bytes = 10;
constexpr std::size_t seal_bytes = 16;

/// Tells files from each other: size, headers, and stretches spread over all the file, its end
/// among them. A hash of all bytes would take a tenth of the time of an image.
std::uint64_t mark_of(std::span<const std::byte> file) {
  constexpr std::size_t head = 1024;
  constexpr std::size_t stretches = 32;
  constexpr std::size_t stretch = 64;
  std::array<std::byte, head + stretches * stretch> seen;
  if (file.size() <= seen.size())
    return xxh3_64(file);
  auto to = std::copy_n(file.begin(), head, seen.begin());
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto at = (file.size() - stretch) * i / (stretches - 1);
    to = std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(at), stretch, to);
  }
  return xxh3_64(seen) ^ file.size();
}

template <class T>
void put(std::byte*& at, T x) {
  for (std::size_t i = 0; i < sizeof x; ++i, x = static_cast<T>(x >> 8))
    *at++ = static_cast<std::byte>(x & 0xFF);
}

template <class T>
T take(const std::byte*& at) {
  std::uint64_t x = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    x |= std::to_integer<std::uint64_t>(*at++) << 8 * i;
  return static_cast<T>(x);
}

struct seal {
  std::uint64_t mark = 0;
  std::uint64_t checksum = 0;
};

/// Empty if none of these places exists.
std::optional<seal> seal_of(std::span<const std::byte> bytes) {
  if (bytes.size() < seal_bytes || (bytes.size() - seal_bytes) % place_bytes != 0)
    return std::nullopt;
  const auto* at = bytes.data();
  seal x;
  x.mark = take<std::uint64_t>(at);
  x.checksum = take<std::uint64_t>(at);
  if (x.checksum != xxh3_64(bytes.subspan(seal_bytes)))
    return std::nullopt;
  return x;
}

} // namespace

std::vector<std::byte> write_row_places(std::span<const std::byte> file,
                                        std::span<const scan_place> places) {
  std::vector<std::byte> bytes(seal_bytes + places.size() * place_bytes);
  auto* at = bytes.data() + seal_bytes;
  for (const auto& x : places) {
    put(at, x.bit);
    for (const auto dc : x.dc)
      put(at, static_cast<std::uint16_t>(dc));
  }
  at = bytes.data();
  put(at, mark_of(file));
  put(at, xxh3_64(std::span{bytes}.subspan(seal_bytes)));
  return bytes;
}

bool read_row_places(std::span<const std::byte> bytes, std::span<const std::byte> file,
                     std::vector<scan_place>& to) {
  to.clear();
  const auto found = seal_of(bytes);
  if (!found || found->mark != mark_of(file))
    return false;
  const auto* at = bytes.data() + seal_bytes;
  to.resize((bytes.size() - seal_bytes) / place_bytes);
  for (auto& x : to) {
    x.bit = take<std::uint32_t>(at);
    for (auto& dc : x.dc)
      dc = static_cast<std::int16_t>(take<std::uint16_t>(at));
  }
  return true;
}

bool are_whole_row_places(std::span<const std::byte> bytes) {
  return bytes.empty() || seal_of(bytes);
}

} // namespace leat
