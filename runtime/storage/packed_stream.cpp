#include "runtime/storage/packed_stream.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/file_kind.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t input_bytes = std::size_t{1} << 16;
/// Bytes that suffice to recognize each mark of compressed data.
constexpr std::size_t longest_mark = 4;

/// Whether the bytes begin with the mark, or, if they are fewer, with its beginning: the file may
/// have been cut short.
bool begins(std::string_view bytes, std::string_view mark) {
  return !bytes.empty() && mark.starts_with(bytes.substr(0, mark.size()));
}

/// A skippable frame of zstd: it has nothing to decompress.
bool is_skipped_frame(std::string_view bytes) {
  return begins(bytes.substr(std::min<std::size_t>(bytes.size(), 1)), "\x2a\x4d\x18")
         && (bytes[0] & 0xf0) == 0x50;
}

std::string_view name_of(packing how) {
  return how == packing::gzip ? "gzip" : "zstd";
}

/// x.jsonl for x.jsonl.gz.
std::string without_ending(const std::string& file) {
  const auto dot = file.rfind('.');
  return file.substr(0, dot == std::string::npos || dot == 0 ? file.size() : dot);
}

} // namespace

packed_stream::packed_stream(std::string file, packing how, std::unique_ptr<byte_stream> in,
                             restart_point from)
    : file_(std::move(file)), how_(how), unpacker_(unpacker::make(how)), in_(std::move(in)),
      buffer_(input_bytes), offset_(from.unpacked), restart_(from), has_member_(from.packed > 0) {}

std::size_t packed_stream::read(std::span<std::byte> into) {
  std::size_t done = 0;
  bool ended = false;
  while (done < into.size() && (done == 0 || !ended)) {
    if (!inside_ && ready_.empty() && !refill()) {
      if (in_->offset() == 0)
        torn();
      return done;
    }
    if (!inside_)
      begin_member();
    const auto x = run(into.subspan(done));
    done += x.given;
    ended = x.ended;
    const bool needs_input = x.taken == 0 && x.given == 0 && !ended;
    if (needs_input && (!ready_.empty() || !refill())) {
      if (done > 0) // return what there is; the next call throws the error
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
    if (!inside_) {
      if (!next_packing())
        return; // the next read reports it: everything before is whole
      begin_member();
    }
    x = run(nothing);
  } while (x.taken > 0 && !x.ended);
}

unpacker::progress packed_stream::run(std::span<std::byte> into) {
  try {
    const auto x = unpacker_->run(ready_, into);
    ready_ = ready_.subspan(x.taken);
    offset_ += x.given;
    inside_ = !x.ended && (inside_ || x.taken > 0);
    // Empty members can end at the same byte of the data: the first restart point there counts.
    has_member_ = has_member_ || x.ended;
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

std::optional<packing> packed_stream::next_packing() {
  while (ready_.size() < longest_mark) {
    std::copy(ready_.begin(), ready_.end(), buffer_.begin());
    const auto n = in_->read(std::span{buffer_}.subspan(ready_.size()));
    ready_ = std::span{buffer_}.first(ready_.size() + n);
    if (n == 0)
      break;
  }
  const std::string_view bytes{reinterpret_cast<const char*>(ready_.data()), ready_.size()};
  if (begins(bytes, "\x1f\x8b"))
    return packing::gzip;
  if (begins(bytes, "\x28\xb5\x2f\xfd") || is_skipped_frame(bytes))
    return packing::zstd;
  return std::nullopt;
}

void packed_stream::begin_member() {
  const auto found = next_packing();
  if (found && *found != how_) {
    how_ = *found;
    unpacker_ = unpacker::make(how_);
  }
  if (found)
    return;
  const std::string how{name_of(how_)};
  if (has_member_)
    throw error(errc::torn_file,
                {.stage = "unpack",
                 .file = file_,
                 .offset = in_->offset() - ready_.size(),
                 .got = "other bytes after the end of what " + how + " packed",
                 .needed = "nothing there, or more of " + how + ": what comes before is whole"});
  // Bytes of no known kind go to the unpacker, which fails on them.
  if (const auto kind = kind_of_file(file_, ready_))
    throw_file_error(errc::invalid_argument, "unpack", file_,
                     kind.what + ", which its name says " + how + " has packed",
                     "packed data, or a name without its ending: " + without_ending(file_));
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
