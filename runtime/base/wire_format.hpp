#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace leat {

// Fields of Protobuf messages, written by hand because a message is made for every batch.

enum class wire_type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2 };

// Each function writes to `to`, which must have room, and returns the end of its output.

inline char* put_varint(char* to, std::uint64_t x) {
  for (; x >= 0x80; x >>= 7)
    *to++ = static_cast<char>(x | 0x80);
  *to++ = static_cast<char>(x);
  return to;
}

/// Bytes of a number as a varint.
inline std::uint64_t varint_bytes(std::uint64_t x) {
  return (static_cast<std::uint64_t>(std::bit_width(x | 1)) + 6) / 7;
}

inline char* put_tag(char* to, int field, wire_type type) {
  return put_varint(to, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
}

inline char* put(char* to, int field, std::uint64_t x) {
  return x == 0 ? to : put_varint(put_tag(to, field, wire_type::varint), x);
}

/// The tag and size that precede bytes or a message.
inline char* put_size(char* to, int field, std::size_t size) {
  return put_varint(put_tag(to, field, wire_type::bytes), size);
}

inline char* put(char* to, int field, std::string_view bytes) {
  return std::copy(bytes.begin(), bytes.end(), put_size(to, field, bytes.size()));
}

inline char* put_fixed(char* to, int field, std::uint64_t x) {
  if (x == 0)
    return to;
  to = put_tag(to, field, wire_type::fixed64);
  std::memcpy(to, &x, sizeof x);
  return to + sizeof x;
}

/// A message of at most 127 bytes, which `put_fields` writes: its size, filled in afterwards, takes
/// one byte.
template <class PutFields>
inline char* put_short(char* to, int field, PutFields put_fields) {
  to = put_size(to, field, 0);
  auto* const end = put_fields(to);
  to[-1] = static_cast<char>(end - to);
  return end;
}

inline std::size_t size_of_varint(std::uint64_t x) {
  return (static_cast<std::size_t>(std::bit_width(x | 1)) + 6) / 7;
}

/// The size of an integer field, which is not written if it is zero; the field number is below 16.
inline std::size_t size_of_number(std::uint64_t x) {
  return x == 0 ? 0 : 1 + size_of_varint(x);
}

/// The size of a field of bytes, which is always written; the field number is below 16.
inline std::size_t size_of_bytes(std::size_t size) {
  return 1 + size_of_varint(size) + size;
}

} // namespace leat
