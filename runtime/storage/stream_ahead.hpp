#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/ahead_threads.hpp"
#include "runtime/storage/byte_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace leat {

/// Another stream, read by other threads, up to some distance ahead of its reader: what unpacking
/// costs does not stop the reader. For one who reads in blocks of `stream_block_bytes`, or less, it
/// gives the same bytes, places and errors as the stream. Used by one thread at a time.
class stream_ahead final : public byte_stream, private ahead_threads::work {
public:
  /// Begins to read. `by` outlives it; `stop` ends a read of `of` that takes long. Throws
  /// `errc::no_resources`.
  stream_ahead(std::unique_ptr<byte_stream> of, ahead_threads& by, std::stop_source stop = {});
  /// Waits if a thread is reading for it.
  ~stream_ahead() override;

  std::size_t read(std::span<std::byte> into) override;
  std::uint64_t offset() const override { return offset_; }
  restart_point restart() const override { return restart_; }

private:
  /// What one read of the stream gave.
  struct piece {
    std::vector<std::byte> memory = {};
    /// Bytes in it; 0 at the end, and for a failure.
    std::size_t size = 0;
    /// At its end: before it, it is that of the piece before.
    restart_point restart = {};
    std::exception_ptr failure = {};
  };
  /// All of them exist from the beginning, and go round: nothing is allocated to pass one on.
  using pieces = std::list<piece>;

  bool run() noexcept override;
  /// Takes the next piece, when it has come.
  void take();
  void read_piece(piece& into);

  /// Used by the thread that runs this, and by no other.
  std::unique_ptr<byte_stream> of_;
  ahead_threads& by_;
  std::stop_source stop_;

  // Of the reader:
  /// The piece that is being given; empty in the beginning.
  pieces now_;
  std::size_t given_ = 0;
  std::uint64_t offset_;
  restart_point restart_;

  mutex mutex_;
  condition_variable came_;
  pieces ready_ LEAT_GUARDED_BY(mutex_);
  pieces spare_ LEAT_GUARDED_BY(mutex_);
  /// It waits for its turn, or runs.
  bool is_added_ LEAT_GUARDED_BY(mutex_) = true;
  /// The last piece has come, or nothing more is wanted.
  bool is_over_ LEAT_GUARDED_BY(mutex_) = false;
};

} // namespace leat
