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
  /// is not possible: reading just these bytes succeeds, or says what is wrong. Throws
  /// std::bad_alloc.
  bool read(const stream_files& from, std::size_t file, std::uint64_t offset,
            std::span<std::byte> into, const std::stop_token& stop = {});

private:
  struct block {
    /// Of the files; 0: none.
    std::uint64_t serial = 0;
    std::size_t file = 0;
    std::uint64_t number = 0;
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
  };

  /// Null if it cannot be read.
  const block* find(const stream_files& from, std::size_t file, std::uint64_t number,
                    const std::stop_token& stop);

  /// Each block has one place here.
  std::vector<block> blocks_;
};

} // namespace leat
