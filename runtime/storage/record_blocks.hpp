#pragma once

#include "runtime/storage/stream_files.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace leat {

/// A cache of the blocks of files that one thread read last, so that small records that lie near
/// each other are read together: a system call per record costs more than all other work on it.
class record_blocks {
public:
  /// Larger records are better read alone.
  static constexpr std::size_t largest_record = 1024;
  static constexpr std::size_t block_bytes = 8192;
  /// 4 MiB in all: one block at each place where a few hundred lanes read, or several for some
  /// dozen.
  static constexpr std::size_t most_blocks = 512;

  /// Fills `into` with bytes of a plain file, from known blocks where it can. Returns false if that
  /// is not possible, or if records lie so far from each other that blocks do not pay; then reading
  /// just these bytes succeeds or reports what is wrong. Throws std::bad_alloc.
  bool read(const stream_files& from, std::size_t file, std::uint64_t offset,
            std::span<std::byte> into, const std::stop_token& stop = {});

private:
  struct block {
    /// That of the stream_files; 0: the block is empty.
    std::uint64_t serial = 0;
    std::size_t file = 0;
    std::uint64_t number = 0;
    /// 0: it was asked for, but not read.
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
  };

  /// Blocks pay if at least two of three records lie in a block that an earlier record asked for:
  /// reading a block from the page cache costs about as much as three small records, and from a
  /// server it is many times the bytes.
  static constexpr int most_points = 64;

  /// Null if the block cannot be read, or if blocks do not pay.
  const block* find(const stream_files& from, std::size_t file, std::uint64_t number,
                    const std::stop_token& stop);

  /// A direct-mapped cache: each block of a file has one place here.
  std::vector<block> blocks_;
  /// Rises by 1 with a known block and falls by 2 with another; below 0, blocks do not pay.
  int points_ = most_points;
};

} // namespace leat
