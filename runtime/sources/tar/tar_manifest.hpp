#pragma once

#include "runtime/storage/object_store.hpp"

#include <leat/hash128.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

// A manifest is one object with the indexes of all shards of a data set, without the places in
// their JPEGs, and with the versions of the shards that they belong to: whoever has it needs no
// further request before the first record.
//
// The object: a prefix (magic, checksum of what follows of the head, bytes of the head, bytes of
// the object, number of shards), an entry per shard, and the indexes, each at a multiple of 8
// bytes, in the order of their entries. Numbers are little-endian, hashes XXH3 with seed 0. Another
// format would have another magic.

/// Bytes of the prefix.
inline constexpr std::size_t manifest_prefix_bytes = 40;

/// What a manifest says of one shard.
struct manifest_entry {
  /// Below the manifest's own folder, or a whole path or address.
  std::string name = {};
  object_version version = {};
  std::uint64_t records = 0;
  /// XXH3-128 of the index.
  hash128 digest = {};
  /// Where the index lies in the manifest.
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const manifest_entry&, const manifest_entry&) = default;
};

/// How many bytes the head of a manifest of `all` bytes has, by its prefix; 0: it is no manifest,
/// or one whose head is larger than any may be.
std::uint64_t manifest_head_bytes(std::span<const std::byte> prefix, std::uint64_t all);

/// The entries in the head of a manifest of `all` bytes; nothing if it is damaged. No byte of it is
/// trusted: indexes lie in the object, one after the other. Whether an index is what its digest
/// says is left to whoever reads it.
std::optional<std::vector<manifest_entry>> read_manifest_head(std::span<const std::byte> head,
                                                              std::uint64_t all);

/// A shard and its index, to be written.
struct manifest_shard {
  std::string name = {};
  object_version version = {};
  std::uint64_t records = 0;
  std::vector<std::byte> index = {};
};

/// The bytes of a manifest. Throws `errc::invalid_argument` with its `name`, for errors, if they
/// are more than one object may have, or if a shard's name is longer than names may be.
std::vector<std::byte> write_manifest(std::span<const manifest_shard> shards,
                                      const std::string& name);

/// A shard's name as a manifest of this name has it, and the other way round. Both are full names.
std::string name_in_manifest(const std::string& shard, const std::string& manifest);
std::string name_by_manifest(const std::string& entry, const std::string& manifest);

} // namespace leat
