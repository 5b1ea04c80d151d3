#pragma once

#include "runtime/storage/cache/block_id.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace leat {

// A file of a cache: a header of `block_header_bytes`, and the block's bytes after it. The header
// says which block it is, and has a checksum of each chunk, so that whoever needs a part of a block
// reads and checks no more than that.

inline constexpr std::size_t block_header_bytes = 1024;
inline constexpr std::size_t block_chunk_bytes = std::size_t{16} << 10;

/// The checksums of a block, as its header has them.
class block_checks {
public:
  /// Of a block of `bytes` bytes. Nothing unless `header` is one of this block, not a bit of which
  /// has changed.
  static std::optional<block_checks> read(std::span<const std::byte> header, const block_id& id,
                                          std::size_t bytes);

  /// Whether these are the bytes of a chunk.
  bool fit(std::size_t chunk, std::span<const std::byte> bytes) const noexcept;

private:
  std::array<std::uint64_t, cache_block_bytes / block_chunk_bytes> sums_{};
};

/// The header of a block that is not empty.
std::string block_header(const block_id& id, std::span<const std::byte> block);

} // namespace leat
