#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

namespace leat {

/// Where decompression can begin: at a gzip member or zstd frame. Both are 0 at the beginning of a
/// file, and in files that are not compressed.
struct restart_point {
  /// Offset in the compressed file.
  std::uint64_t packed = 0;
  /// Offset in the decompressed data.
  std::uint64_t unpacked = 0;

  friend bool operator==(const restart_point&, const restart_point&) = default;
};

/// The decompressed bytes of a file, in order. Used by one thread at a time.
class byte_stream : not_copied {
public:
  virtual ~byte_stream() = default;

  /// Fills `into`, which is not empty, and returns the number of bytes, 0 only at the end. Stops
  /// early where `restart` changes, so that no restart point goes unseen.
  /// Throws `errc::io`, `errc::torn_file`; `errc::invalid_argument` for what is not supported.
  virtual std::size_t read(std::span<std::byte> into) = 0;
  /// Offset of the next byte in the decompressed data.
  virtual std::uint64_t offset() const = 0;
  /// The last restart point at or before `offset`.
  virtual restart_point restart() const { return {}; }
};

/// Block size for all readers of streams. There is one size because damage hides the data before it
/// in its block, and how much that is must not depend on the reader.
inline constexpr std::size_t stream_block_bytes = std::size_t{1} << 16;

/// Reads and drops bytes up to `offset`, which is at or after stream.offset(); false if the file
/// ends before it. Throws `errc::interrupted` once `stop` is requested.
bool skip_to(byte_stream& stream, std::uint64_t offset, const std::stop_token& stop = {});

/// Reads until `into` is full or the file ends; returns the number of bytes.
std::size_t read_all(byte_stream& stream, std::span<std::byte> into);

} // namespace leat
