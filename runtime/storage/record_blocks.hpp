#pragma once

#include "runtime/storage/stream_files.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace leat {

/// The blocks of files that one thread read last, so that small records that lie near each other
/// are read together: a call of the system for each costs more than all else that is done for it.
class record_blocks {
public:
  /// A record that is larger is better read alone.
  static constexpr std::size_t largest_record = 1024;
  static constexpr std::size_t block_bytes = 8192;
  /// 4 MiB: the places at which a few hundred lanes read, or what lies near some dozens.
  static constexpr std::size_t most_blocks = 512;

  /// Fills `into` with bytes of a plain file, which the blocks may have from before. False if that
  /// is not possible, or if `is_near` and records lie so far from each other that blocks do not
  /// pay: reading just these bytes succeeds, or says what is wrong. `is_near`: the files lie in
  /// this machine's memory, mostly; from elsewhere a block takes hardly longer than a record.
  /// Throws std::bad_alloc.
  bool read(const stream_files& from, std::size_t file, std::uint64_t offset,
            std::span<std::byte> into, bool is_near = false, const std::stop_token& stop = {});

private:
  struct block {
    /// Of the files; 0: none.
    std::uint64_t serial = 0;
    std::size_t file = 0;
    std::uint64_t number = 0;
    /// 0: it was asked for, and not read.
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
  };

  /// Blocks of near files pay if two of three records, or more, lie in one that an earlier record
  /// asked for: reading a block from the page cache costs about as much as three small records.
  static constexpr int most_points = 64;

  /// Null if it cannot be read, or if blocks do not pay.
  const block* find(const stream_files& from, std::size_t file, std::uint64_t number, bool is_near,
                    const std::stop_token& stop);

  /// Each block has one place here.
  std::vector<block> blocks_;
  /// Rises with known blocks and falls with others; below 0 blocks do not pay.
  int points_ = most_points;
};

} // namespace leat
