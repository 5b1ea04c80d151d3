#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

namespace leat {

/// Where unpacking can begin: at a gzip member or zstd frame. Both are 0 at the beginning of a
/// file, and in files that are not packed.
struct restart_point {
  /// Bytes of the packed file before it.
  std::uint64_t packed = 0;
  /// Bytes of what they unpack to.
  std::uint64_t unpacked = 0;

  friend bool operator==(const restart_point&, const restart_point&) = default;
};

/// The bytes of a file, unpacked, one after the other. Used by one thread at a time.
class byte_stream {
public:
  byte_stream() = default;
  virtual ~byte_stream() = default;
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;

  /// Fills `into`, not empty, from its beginning, and returns how many bytes there were: 0 at the
  /// end only. Ends early where `restart` changes, so that no such place goes unseen.
  /// Throws `errc::io`, `errc::torn_file`; `errc::invalid_argument` for what is not supported.
  virtual std::size_t read(std::span<std::byte> into) = 0;
  /// Offset of the next byte from the beginning of the file.
  virtual std::uint64_t offset() const = 0;
  /// The last such place at or before `offset`.
  virtual restart_point restart() const { return {}; }
};

/// How much is read at once by those who read streams in blocks. One size for all: damage hides
/// what lies before it in its block, and how much that is must not depend on who reads.
inline constexpr std::size_t stream_block_bytes = std::size_t{1} << 16;

/// Reads and drops bytes up to `offset`, not before stream.offset(); false where the file ends
/// before it. Throws `errc::interrupted` once `stop` is requested.
bool skip_to(byte_stream& stream, std::uint64_t offset, const std::stop_token& stop = {});

/// Reads until `into` is full or the file ends; returns the number of bytes.
std::size_t read_all(byte_stream& stream, std::span<std::byte> into);

} // namespace leat
