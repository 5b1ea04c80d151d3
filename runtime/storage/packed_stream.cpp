#include "runtime/storage/packed_stream.hpp"

#include <leat/error.hpp>

#include <utility>

namespace leat {

namespace {

constexpr std::size_t input_bytes = std::size_t{1} << 16;

} // namespace

packed_stream::packed_stream(std::string file, packing how, std::unique_ptr<byte_stream> in,
                             restart_point from)
    : file_(std::move(file)), unpacker_(unpacker::make(how)), in_(std::move(in)),
      buffer_(input_bytes), offset_(from.unpacked), restart_(from) {}

std::size_t packed_stream::read(std::span<std::byte> into) {
  std::size_t done = 0;
  bool ended = false;
  while (done < into.size() && (done == 0 || !ended)) {
    if (!inside_ && ready_.empty() && !refill()) {
      if (in_->offset() == 0)
        torn();
      return done;
    }
    const auto x = run(into.subspan(done));
    done += x.given;
    ended = x.ended;
    const bool needs_input = x.taken == 0 && x.given == 0 && !ended;
    if (needs_input && (!ready_.empty() || !refill())) {
      if (done > 0) // all that there is comes before the error, which the next call throws
        return done;
      torn();
    }
  }
  if (!ended)
    look_for_end(into.subspan(done));
  return done;
}

void packed_stream::look_for_end(std::span<std::byte> nothing) {
  unpacker::progress x;
  do {
    if (ready_.empty() && !refill())
      return;
    x = run(nothing);
  } while (x.taken > 0 && !x.ended);
}

unpacker::progress packed_stream::run(std::span<std::byte> into) {
  try {
    const auto x = unpacker_->run(ready_, into);
    ready_ = ready_.subspan(x.taken);
    offset_ += x.given;
    inside_ = !x.ended && (inside_ || x.taken > 0);
    // If several are at one byte, because of empty members, the first one counts.
    if (x.ended && offset_ != restart_.unpacked)
      restart_ = {.packed = in_->offset() - ready_.size(), .unpacked = offset_};
    return x;
  } catch (const error& x) {
    auto details = x.details();
    details.file = file_;
    details.offset = in_->offset() - ready_.size();
    throw error(x.code(), std::move(details));
  }
}

bool packed_stream::refill() {
  const auto n = in_->read(buffer_);
  ready_ = std::span{buffer_}.first(n);
  return n > 0;
}

std::size_t packed_stream::memory() const {
  return buffer_.capacity() + unpacker_->memory();
}

void packed_stream::torn() const {
  throw error(errc::torn_file,
              {.stage = "unpack",
               .file = file_,
               .offset = in_->offset(),
               .got = "the end of the file",
               .needed = "the end of a gzip member or zstd frame: the file was cut short"});
}

} // namespace leat
