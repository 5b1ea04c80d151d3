#pragma once

#include "runtime/sources/stream_pool.hpp"
#include "runtime/storage/byte_stream.hpp"
#include "runtime/storage/remote/byte_budget.hpp"
#include "runtime/storage/shared_bytes.hpp"
#include "runtime/storage/stream_files.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

namespace leat {

class ahead_threads;

/// The files of a source as streams of bytes. The streams that it opens use it: it must outlive
/// them. Any thread.
class stream_opener {
public:
  explicit stream_opener(file_set files, read_pattern pattern = read_pattern::normal,
                         std::size_t pool_bytes = stream_pool::default_limit_bytes)
      : files_(std::move(files), pattern), pool_(pool_bytes) {}

  const stream_files& files() const noexcept { return files_; }

  /// True for a stored file that is not compressed: any part of it can be read directly.
  bool seekable(std::size_t file) const {
    return !files_.is_pipe(file) && files_.packed(file) == packing::none;
  }

  /// Whether what is read of it should be kept, as to read it again takes long or is impossible.
  bool is_read_once(std::size_t file) const { return !seekable(file) || !files_.are_near(); }

  /// True for a stored file that is compressed.
  bool is_unpacked(std::size_t file) const {
    return !files_.is_pipe(file) && files_.packed(file) != packing::none;
  }

  /// A stream whose next byte is `offset`. For a compressed file, the first read decompresses what
  /// lies between `from` and there. Throws `errc::invalid_argument` for a pipe at another place
  /// than its beginning; `errc::io`. `ahead`, unless it is null, unpacks stored files, and outlives
  /// the stream.
  std::unique_ptr<byte_stream> open(std::size_t file, std::uint64_t offset, restart_point from,
                                    ahead_threads* ahead = nullptr) const;

  /// Says in a notice how much of a file must be decompressed again to resume at `offset`, if
  /// anything.
  void notice_reread(std::size_t file, std::uint64_t offset, restart_point from) const;

  /// For what is read of its streams: a block that nobody needs any more serves any of them.
  const std::shared_ptr<shared_bytes_pool>& blocks() const noexcept { return blocks_; }

  /// For records that carry their content.
  const std::shared_ptr<read_buffers>& contents() const noexcept { return contents_; }

  /// Fills `into` with bytes that were read before, from a file that is not a pipe. In a compressed
  /// file it continues where the last such call for the file ended, if that is nearer than `from`.
  /// Throws `errc::io`, `errc::torn_file`.
  void read_again(std::size_t file, std::uint64_t offset, restart_point from,
                  std::span<std::byte> into, const std::stop_token& stop = {}) const;

  /// Throws `errc::bad_snapshot` for what cannot lie in the file: a place at which reading resumes,
  /// and a record of `length` bytes from there, in a compressed file at most `most`.
  void check_place(std::size_t file, std::uint64_t offset, restart_point from) const;
  void check_record(std::size_t file, std::uint64_t offset, restart_point from,
                    std::uint64_t length, std::uint64_t most) const;

private:
  class plain;
  class pipe;
  class pooled;

  /// The bytes of a stored file, as stored.
  std::unique_ptr<byte_stream> open_stored(std::size_t file, std::uint64_t offset) const;
  std::unique_ptr<packed_stream> open_packed(std::size_t file, std::unique_ptr<byte_stream> in,
                                             restart_point from) const;

  /// Few lanes have more in flight, and this is 8 MiB at most times.
  static constexpr std::size_t most_blocks_kept = 128;

  stream_files files_;
  std::shared_ptr<shared_bytes_pool> blocks_ =
      std::make_shared<shared_bytes_pool>(most_blocks_kept);
  std::shared_ptr<read_buffers> contents_ = std::make_shared<read_buffers>(process_read_ahead());
  mutable stream_pool pool_;
};

} // namespace leat
