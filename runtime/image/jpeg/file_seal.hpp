#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace leat {

// What is kept about a JPEG begins with a seal, which tells the file, and the bytes that follow,
// from others. 16 bytes: a mark of the file, and the XXH3-64 of what follows, little-endian.

inline constexpr std::size_t seal_bytes = 16;

/// Writes the seal of `bytes` into the first of them. `file`: the whole JPEG.
void seal(std::span<std::byte> bytes, std::span<const std::byte> file);

/// What follows the seal: whole entries of so many bytes. Nothing where they are damaged, whatever
/// file they are of.
std::optional<std::span<const std::byte>> sealed(std::span<const std::byte> bytes,
                                                 std::size_t entry_bytes);

/// The same, and nothing where they are of another file.
std::optional<std::span<const std::byte>> sealed_of(std::span<const std::byte> file,
                                                    std::span<const std::byte> bytes,
                                                    std::size_t entry_bytes);

/// Writes a number in little-endian order, and moves past it.
template <class T>
void put_number(std::byte*& at, T x) {
  for (std::size_t i = 0; i < sizeof x; ++i, x = static_cast<T>(x >> 8))
    *at++ = static_cast<std::byte>(x & 0xFF);
}

/// Reads one likewise.
template <class T>
T take_number(const std::byte*& at) {
  std::uint64_t x = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    x |= std::to_integer<std::uint64_t>(*at++) << 8 * i;
  return static_cast<T>(x);
}

} // namespace leat
