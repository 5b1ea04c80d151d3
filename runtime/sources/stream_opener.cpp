#include "runtime/sources/stream_opener.hpp"

#include "runtime/sample/item.hpp"
#include "runtime/storage/remote/far_stream.hpp"
#include "runtime/storage/stream_ahead.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace leat {

namespace {

[[noreturn]] void ends_early(const std::string& file, std::uint64_t at, std::uint64_t needed) {
  throw error(errc::torn_file, {.stage = "read",
                                .file = file,
                                .offset = at,
                                .got = "the end of the file",
                                .needed = "byte " + std::to_string(needed)
                                          + ", which was read before: the file was cut short"});
}

} // namespace

/// A stored file, as stored.
class stream_opener::plain final : public byte_stream {
public:
  plain(const stream_files& files, std::size_t file, std::uint64_t offset)
      : files_(files), file_(file), offset_(offset) {}

  std::size_t read(std::span<std::byte> into) override {
    const auto n = files_.read(file_, offset_, into);
    offset_ += n;
    return n;
  }
  std::uint64_t offset() const override { return offset_; }

private:
  const stream_files& files_;
  std::size_t file_;
  std::uint64_t offset_;
};

/// Opened at the first read: until then another stream may take it. The first one gives the pipe
/// back, if it has not read too much to keep.
class stream_opener::pipe final : public byte_stream {
public:
  pipe(const stream_files& files, std::size_t file) : files_(files), file_(file) {}
  pipe(const pipe&) = delete;
  pipe& operator=(const pipe&) = delete;
  ~pipe() override {
    if (from_.is_new)
      files_.give_back_pipe(file_, std::move(from_));
  }

  std::size_t read(std::span<std::byte> into) override {
    if (!from_.descriptor)
      from_ = files_.take_pipe(file_);
    const auto n = from_.is_new || offset_ >= from_.before.size() ? read_new(into) : repeat(into);
    offset_ += n;
    return n;
  }
  std::uint64_t offset() const override { return offset_; }

private:
  static constexpr std::size_t most_kept = std::size_t{16} << 20;

  std::size_t read_new(std::span<std::byte> into) {
    ssize_t n = -1;
    do
      n = ::read(from_.descriptor.get(), into.data(), into.size());
    while (n < 0 && errno == EINTR);
    if (n < 0)
      throw_errno("read", files_.path(file_), "bytes of a pipe");
    const auto got = into.first(static_cast<std::size_t>(n));
    if (from_.is_new && from_.before.size() + got.size() <= most_kept)
      from_.before.insert(from_.before.end(), got.begin(), got.end());
    else
      forget();
    return got.size();
  }

  std::size_t repeat(std::span<std::byte> into) {
    const auto left = std::span{from_.before}.subspan(static_cast<std::size_t>(offset_));
    const auto n = std::min(left.size(), into.size());
    std::copy_n(left.begin(), n, into.begin());
    return n;
  }

  /// From now on the pipe is this reader's alone.
  void forget() noexcept {
    from_.is_new = false;
    from_.before = {};
  }

  const stream_files& files_;
  std::size_t file_;
  stream_files::open_pipe from_;
  std::uint64_t offset_ = 0;
};

/// A compressed file: holds a place, and takes the stream out of the pool for each read.
class stream_opener::pooled final : public byte_stream {
public:
  pooled(const stream_opener& opener, std::size_t file, std::uint64_t id, std::uint64_t offset,
         restart_point from, std::stop_token stop)
      : opener_(opener), file_(file), id_(id), offset_(offset), restart_(from),
        stop_(std::move(stop)) {}
  ~pooled() override {
    if (id_ != file_)
      opener_.pool_.drop(id_);
  }

  std::size_t read(std::span<std::byte> into) override {
    auto stream = at_place();
    const auto n = stream->read(into);
    offset_ = stream->offset();
    restart_ = stream->restart();
    opener_.pool_.park(id_, std::move(stream));
    return n;
  }
  std::uint64_t offset() const override { return offset_; }
  restart_point restart() const override { return restart_; }

private:
  std::unique_ptr<packed_stream> at_place() {
    auto stream = opener_.pool_.take(id_);
    const bool fits =
        stream && stream->offset() >= restart_.unpacked && stream->offset() <= offset_;
    if (!fits)
      stream = opener_.open_packed(file_, opener_.open_stored(file_, restart_.packed), restart_);
    if (!skip_to(*stream, offset_, stop_))
      ends_early(opener_.files_.path(file_), stream->offset(), offset_);
    return stream;
  }

  const stream_opener& opener_;
  std::size_t file_;
  /// The file's own id if all share one stream.
  std::uint64_t id_;
  std::uint64_t offset_;
  restart_point restart_;
  std::stop_token stop_;
};

void stream_opener::check_place(std::size_t file, std::uint64_t offset, restart_point from) const {
  const auto bytes = files_.bytes(file);
  if (seekable(file) ? offset > bytes
                     : from.unpacked > offset || (!files_.is_pipe(file) && from.packed > bytes))
    refuse_state("byte " + std::to_string(offset) + " of \"" + files_.path(file)
                     + "\", to be found from byte " + std::to_string(from.unpacked)
                     + ", compressed at " + std::to_string(from.packed),
                 "places in a file of " + std::to_string(bytes) + " bytes");
}

void stream_opener::check_record(std::size_t file, std::uint64_t offset, restart_point from,
                                 std::uint64_t length, std::uint64_t most) const {
  check_place(file, offset, from);
  const auto limit = seekable(file) ? files_.bytes(file) - offset : most;
  if (length > limit)
    refuse_state("a record of " + std::to_string(length) + " bytes at byte "
                     + std::to_string(offset) + " of \"" + files_.path(file) + '"',
                 "at most " + std::to_string(limit));
}

std::unique_ptr<byte_stream> stream_opener::open(std::size_t file, std::uint64_t offset,
                                                 restart_point from, ahead_threads* ahead) const {
  const bool is_packed = files_.packed(file) != packing::none;
  if (files_.is_pipe(file)) {
    if (offset != 0)
      throw error(errc::invalid_argument,
                  {.stage = "open",
                   .file = files_.path(file),
                   .offset = offset,
                   .got = "a place inside a pipe",
                   .needed = "a plain file, or a source that exists once: standard_input, once"});
    auto in = std::make_unique<pipe>(files_, file);
    return is_packed ? std::unique_ptr<byte_stream>{open_packed(file, std::move(in), {})}
                     : std::move(in);
  }
  if (!is_packed)
    return open_stored(file, offset);
  std::stop_source stop;
  auto stream =
      std::make_unique<pooled>(*this, file, pool_.new_id(), offset, from, stop.get_token());
  if (!ahead)
    return stream;
  return std::make_unique<stream_ahead>(std::move(stream), *ahead, std::move(stop));
}

void stream_opener::read_again(std::size_t file, std::uint64_t offset, restart_point from,
                               std::span<std::byte> into, const std::stop_token& stop) const {
  if (files_.is_pipe(file))
    throw error(errc::invalid_argument,
                {.stage = "read",
                 .file = files_.path(file),
                 .offset = offset,
                 .got = "a record of a pipe that was read before",
                 .needed = "a plain file, or a source that exists once: standard_input, once"});
  const bool is_packed = files_.packed(file) != packing::none;
  const auto got = is_packed ? [&] {
    pooled stream{*this, file, file, offset, from, stop};
    return read_all(stream, into);
  }() : files_.read(file, offset, into, stop);
  if (got < into.size())
    ends_early(files_.path(file), offset + got, offset + into.size());
}

std::unique_ptr<byte_stream> stream_opener::open_stored(std::size_t file,
                                                        std::uint64_t offset) const {
  if (files_.are_near())
    return std::make_unique<plain>(files_, file, offset);
  return std::make_unique<far_stream>(files_.objects(), file, offset, files_.bytes(file));
}

std::unique_ptr<packed_stream> stream_opener::open_packed(std::size_t file,
                                                          std::unique_ptr<byte_stream> in,
                                                          restart_point from) const {
  return std::make_unique<packed_stream>(files_.path(file), files_.packed(file), std::move(in),
                                         from);
}

void stream_opener::notice_reread(std::size_t file, std::uint64_t offset,
                                  restart_point from) const {
  if (files_.packed(file) == packing::none || offset <= from.unpacked)
    return;
  notice("decompresses " + std::to_string(offset - from.unpacked) + " bytes of " + files_.path(file)
         + " again, to resume at byte " + std::to_string(offset));
}

} // namespace leat
