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

/// A part of a stream of bytes that is held in memory and moves forward. Reads in blocks, so up to
/// a block more than was asked for. Used by one thread at a time, but for what it shares.
class byte_window {
public:
  /// `file` is named in errors. Memory comes from `blocks`.
  byte_window(std::string file, std::unique_ptr<byte_stream> stream, std::size_t block_bytes,
              std::shared_ptr<shared_bytes_pool> blocks);

  /// The bytes from `offset` on that are held, and at least `size`, unless the file ends before.
  /// Valid until the next call. `offset` is not below what was forgotten.
  /// Throws `errc::torn_file` where the file ends before `offset`, and what `byte_stream` throws.
  std::span<const std::byte> from(std::uint64_t offset, std::size_t size = 1);

  /// All that is held, for others to keep: the window goes on in other memory.
  std::shared_ptr<const shared_bytes> share();

  /// Appends `size` bytes at `offset`, and forgets them: what is held stays a few blocks.
  /// Throws `errc::torn_file` where there are not as many.
  void move_to(std::vector<std::byte>& to, std::uint64_t offset, std::uint64_t size);

  /// Bytes before `offset` will not be asked for again.
  void forget_before(std::uint64_t offset);

  /// The last place, at or before `offset`, where unpacking can begin again. `offset` has been
  /// read, perhaps forgotten, and is not below that of the last call.
  restart_point restart(std::uint64_t offset);

private:
  /// Reads a block; false at the end of the file.
  bool read_block();
  /// Makes room behind what is held, in memory that nobody shares.
  void make_room();
  std::uint64_t end() const { return begin_ + held_->size() - dead_; }
  [[noreturn]] void torn(std::uint64_t needed) const;

  std::string file_;
  std::unique_ptr<byte_stream> stream_;
  std::size_t block_bytes_;
  /// Offset of the first byte that is held.
  std::uint64_t begin_;
  std::shared_ptr<shared_bytes_pool> blocks_;
  std::shared_ptr<shared_bytes> held_;
  bool is_shared_ = false;
  /// How many bytes at the beginning of what is held are forgotten.
  std::size_t dead_ = 0;
  /// From the one that `restart` returned last on.
  std::deque<restart_point> restarts_;
};

} // namespace leat
