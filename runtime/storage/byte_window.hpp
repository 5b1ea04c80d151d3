#pragma once

#include "runtime/storage/byte_stream.hpp"
#include "runtime/storage/shared_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// How a window reads its stream.
enum class window_reads : std::uint8_t {
  /// All reads are of one size, and what is asked for is copied out of what they gave.
  in_blocks,
  /// Only for streams without restart points: what is not held is read to where it is wanted.
  straight,
};

/// A part of a byte stream that is held in memory and moves forward. It reads in blocks, and so up
/// to a block more than was asked for. Used by one thread at a time, except for what it shares.
class byte_window {
public:
  /// `file` is named in errors. Memory comes from `blocks`.
  byte_window(std::string file, std::unique_ptr<byte_stream> stream, std::size_t block_bytes,
              std::shared_ptr<shared_bytes_pool> blocks,
              window_reads how = window_reads::in_blocks);

  /// All bytes held from `offset` on: at least `size`, unless the file ends first. Valid until the
  /// next call. `offset` must not have been forgotten.
  /// Throws `errc::torn_file` if the file ends before `offset`, and what `byte_stream` throws.
  std::span<const std::byte> from(std::uint64_t offset, std::size_t size = 1);

  /// All that is held, for others to keep; the window continues in other memory.
  std::shared_ptr<const shared_bytes> share();

  /// Appends `size` bytes at `offset` to `to` and forgets them, so that the window stays at a few
  /// blocks. Throws `errc::torn_file` if there are fewer.
  void move_to(std::vector<std::byte>& to, std::uint64_t offset, std::uint64_t size);

  /// Fills `into` with the bytes at `offset` and forgets them. Throws `errc::torn_file` if there
  /// are fewer.
  void read_into(std::span<std::byte> into, std::uint64_t offset);

  /// Bytes before `offset` will not be asked for again.
  void forget_before(std::uint64_t offset);

  /// The last restart point at or before `offset`. `offset` has been read, perhaps forgotten, and
  /// does not decrease between calls.
  restart_point restart(std::uint64_t offset);

private:
  /// Reads a block; false at the end of the file.
  bool read_block();
  /// Makes room after what is held, in memory that nobody else shares.
  void make_room();
  std::uint64_t end() const { return begin_ + held_->size() - dead_; }
  [[noreturn]] void torn(std::uint64_t needed) const;

  std::string file_;
  std::unique_ptr<byte_stream> stream_;
  std::size_t block_bytes_;
  window_reads how_;
  /// Offset of the first byte that is held.
  std::uint64_t begin_;
  std::shared_ptr<shared_bytes_pool> blocks_;
  std::shared_ptr<shared_bytes> held_;
  bool is_shared_ = false;
  /// Number of forgotten bytes at the beginning of `held_`.
  std::size_t dead_ = 0;
  /// Starts with the one that `restart` returned last.
  std::deque<restart_point> restarts_;
};

} // namespace leat
