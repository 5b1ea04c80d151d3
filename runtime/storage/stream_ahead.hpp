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

/// Wraps a stream that other threads read some distance ahead of its reader, so that the reader
/// does not wait for decompression. A reader that reads at most `stream_block_bytes` at a time gets
/// the same bytes, restart points and errors as from the stream itself. Used by one thread at a
/// time.
class stream_ahead final : public byte_stream, private ahead_threads::work {
public:
  /// Begins to read. `by` outlives it; `stop` ends a long read of `of`. Throws
  /// `errc::no_resources`.
  stream_ahead(std::unique_ptr<byte_stream> of, ahead_threads& by, std::stop_source stop = {});
  /// Waits for a thread that is reading for it.
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
    /// The restart point at its end; up to there, that of the piece before applies.
    restart_point restart = {};
    std::exception_ptr failure = {};
  };
  /// All pieces exist from the beginning and move between lists: passing one on allocates nothing.
  using pieces = std::list<piece>;

  bool run() noexcept override;
  /// Waits for the next piece and makes it the current one.
  void take();
  void read_piece(piece& into);

  /// Used only by the thread that runs this.
  std::unique_ptr<byte_stream> of_;
  ahead_threads& by_;
  std::stop_source stop_;

  // Used by the reader only:
  /// The current piece; no piece in the beginning.
  pieces now_;
  std::size_t given_ = 0;
  std::uint64_t offset_;
  restart_point restart_;

  mutex mutex_;
  condition_variable came_;
  pieces ready_ LEAT_GUARDED_BY(mutex_);
  pieces spare_ LEAT_GUARDED_BY(mutex_);
  /// It is queued or running.
  bool is_added_ LEAT_GUARDED_BY(mutex_) = true;
  /// The last piece has been read, or the reader is being destroyed.
  bool is_over_ LEAT_GUARDED_BY(mutex_) = false;
};

} // namespace leat
