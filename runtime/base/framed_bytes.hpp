#pragma once

#include "runtime/base/xxh3.hpp"

#include <leat/hash128.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace leat {

// What file headers are made of: numbers, little-endian like all machines that leat runs on, and a
// checksum.

template <class T>
void append_little_endian(std::string& to, T x) {
  to.append(reinterpret_cast<const char*>(&x), sizeof(x));
}

/// `bytes` must have sizeof(T) bytes at `offset`.
template <class T>
T little_endian_at(std::string_view bytes, std::size_t offset) {
  T x;
  std::memcpy(&x, bytes.data() + offset, sizeof(x));
  return x;
}

/// XXH3-128 of one text followed by another.
inline hash128 checksum_of(std::string_view first, std::string_view second) {
  hash_stream hash;
  hash.add_raw(std::as_bytes(std::span{first}));
  hash.add_raw(std::as_bytes(std::span{second}));
  return hash.digest128();
}

} // namespace leat
