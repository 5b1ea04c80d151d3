#include "runtime/jpeg/row_places.hpp"

#include "runtime/xxh3.hpp"

#include <algorithm>
#include <cstring>

namespace leat {

namespace {

constexpr std::size_t place_bytes = 10;
constexpr std::size_t seal_bytes = 16;

/// Tells files from each other: size, headers, and the end of the scan.
std::uint64_t mark_of(std::span<const std::byte> file) {
  constexpr std::size_t most = 512;
  const auto seen = std::min(file.size(), most);
  return xxh3_64(file.first(seen)) ^ xxh3_64(file.last(std::min<std::size_t>(seen, 64)))
         ^ file.size();
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
  if (bytes.size() < seal_bytes || (bytes.size() - seal_bytes) % place_bytes != 0)
    return false;
  const auto* at = bytes.data();
  const auto mark = take<std::uint64_t>(at);
  const auto checksum = take<std::uint64_t>(at);
  if (mark != mark_of(file) || checksum != xxh3_64(bytes.subspan(seal_bytes)))
    return false;
  to.resize((bytes.size() - seal_bytes) / place_bytes);
  for (auto& x : to) {
    x.bit = take<std::uint32_t>(at);
    for (auto& dc : x.dc)
      dc = static_cast<std::int16_t>(take<std::uint16_t>(at));
  }
  return true;
}

} // namespace leat
