#pragma once

#include "runtime/storage/remote/http_head.hpp"

#include <leat/hash128.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// Objects are kept in blocks of so many bytes, the last one of what is left.
inline constexpr std::uint64_t cache_block_bytes = std::uint64_t{1} << 20;

/// A block of one version of an object.
struct block_id {
  hash128 key = {};
  /// It begins at this many blocks.
  std::uint64_t index = 0;

  friend bool operator==(const block_id&, const block_id&) = default;
};

struct hash_of_block {
  std::size_t operator()(const block_id& x) const noexcept {
    return static_cast<std::size_t>(x.key.low ^ (x.index * 0x9e3779b97f4a7c15U));
  }
};

/// Distinguishes an object's version from those of all objects: a hash (SHA-256, its first half) of
/// where it lies, its name, its size and its ETag or generation. Nothing of these can be read from
/// it. Nothing if the server names no version that differs whenever the content does.
std::optional<hash128> block_key(std::string_view server, std::string_view name,
                                 const object_pin& pin);

/// How many bytes a block has of an object of `size` bytes.
constexpr std::uint64_t bytes_of_block(std::uint64_t index, std::uint64_t size) noexcept {
  const auto begin = index * cache_block_bytes;
  return begin >= size ? 0 : std::min(cache_block_bytes, size - begin);
}

/// A file of a cache, by its name.
struct block_name {
  block_id id = {};
  /// Being written: not a block yet.
  bool is_part = false;

  friend bool operator==(const block_name&, const block_name&) = default;
};

/// "ab": the folder within the cache.
std::string folder_of(const block_id& x);
/// Within its folder: "abcdef...-12.block", or ".part".
std::string name_of(const block_name& x);
/// Reads what `name_of` wrote; nothing for any other name.
std::optional<block_name> parse_block_name(std::string_view text);

} // namespace leat
