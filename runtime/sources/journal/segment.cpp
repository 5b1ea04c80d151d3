#include "runtime/sources/journal/segment.hpp"

#include "runtime/base/uninterrupted.hpp"
#include "runtime/sources/journal/frame.hpp"
#include "runtime/sources/live/ready_bytes.hpp"

#include <leat/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace leat {

namespace {

/// Records that begin this close to each other share a window: reading one costs at most twice
/// this, or just the record; and a file of 64 MiB has at most 16,384 windows of short records.
constexpr std::uint64_t window_bytes = 4096;

constexpr std::size_t chunk_bytes = 1 << 16;
/// Bytes of one take: a few times what a pipe holds.
constexpr std::size_t take_bytes = 1 << 20;

file_descriptor open_to_write(const std::string& path) {
  // Through a link, records would be appended to whatever it leads to.
  auto file = opened([&] { return ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC); });
  if (!file)
    throw_errno("journal", path, "a file that can be written, and is no symbolic link");
  return file;
}

std::span<const std::byte, frame_header_bytes> header_of(std::span<const std::byte> frame) {
  return frame.first<frame_header_bytes>();
}

/// Where the first line of some text ends, just after its newline; empty if it does not end.
std::optional<std::size_t> line_end(std::span<const std::byte> text) {
  const auto* found = text.empty() ? nullptr : std::memchr(text.data(), '\n', text.size());
  if (!found)
    return std::nullopt;
  return static_cast<std::size_t>(static_cast<const std::byte*>(found) - text.data()) + 1;
}

} // namespace

segment::segment(std::string path, record_format format, std::uint64_t first)
    : path_(std::move(path)), format_(format), first_(first), file_(open_to_write(path_)),
      size_(version_of(file_, path_).size), next_(first) {
  find_records(false);
}

std::uint64_t segment::next() const {
  mutex_lock lock{mutex_};
  return next_;
}

std::uint64_t segment::end_of_records() const {
  mutex_lock lock{mutex_};
  return end_;
}

void segment::throw_torn(std::uint64_t offset, std::string got, std::string needed) const {
  throw error(errc::torn_file, {.stage = "journal",
                                .file = path_,
                                .offset = offset,
                                .got = std::move(got),
                                .needed = std::move(needed)});
}

// -- writing

std::string segment::tail() const {
  const auto end = end_of_records();
  std::string text(size_ - end, '\0');
  read_fully(file_, path_, end, std::as_writable_bytes(std::span{text}));
  return text;
}

void segment::cut_tail() {
  const auto end = end_of_records();
  if (uninterrupted([&] { return ::ftruncate(file_.get(), static_cast<off_t>(end)); }) != 0)
    throw_errno("journal", path_, "a file that can be cut to " + std::to_string(end) + " bytes");
  size_ = end;
}

void segment::append(std::span<const std::byte> bytes, bool sync) {
  write(bytes);
  find_records(sync);
}

void segment::write(std::span<const std::byte> bytes) {
  try {
    write_at(file_.get(), size_, bytes);
  } catch (const error& x) {
    [[maybe_unused]] const int ignored = ::ftruncate(file_.get(), static_cast<off_t>(size_));
    throw error(x.code(), {.stage = "journal",
                           .file = path_,
                           .offset = size_,
                           .got = x.details().got,
                           .needed = "room for " + std::to_string(bytes.size()) + " bytes"});
  }
  size_ += bytes.size();
}

std::optional<std::size_t> segment::take(int from, bool sync) {
  std::optional<std::size_t> n;
  try {
    n = move_ready(from, file_.get(), size_, take_bytes);
  } catch (const error& x) {
    throw error(x.code(), {.stage = x.details().stage,
                           .file = path_,
                           .offset = size_,
                           .got = x.details().got,
                           .needed = "the bytes of descriptor " + std::to_string(from)});
  }
  if (n.value_or(0) == 0)
    return n;
  size_ += *n;
  find_records(sync);
  return n;
}

// -- finding all records

void segment::find_records(bool sync) {
  if (sync && uninterrupted([&] { return ::fdatasync(file_.get()); }) != 0)
    throw_errno("journal", path_, "fdatasync");
  if (format_ == record_format::lines)
    find_lines();
  else
    find_frames();
}

void segment::find_lines() {
  std::array<std::byte, chunk_bytes> buffer;
  while (searched_ < size_) {
    const auto n = std::min<std::uint64_t>(buffer.size(), size_ - searched_);
    auto text = std::span{buffer}.first(n);
    read_fully(file_, path_, searched_, text);
    const auto chunk_end = searched_ + n;
    while (const auto end = line_end(text)) {
      searched_ += *end;
      add_record(searched_);
      text = text.subspan(*end);
    }
    searched_ = chunk_end;
  }
}

/// The content is checked when it is read: only headers are read here.
void segment::find_frames() {
  std::array<std::byte, chunk_bytes> buffer;
  std::uint64_t held_from = 0;
  std::uint64_t held_to = 0;
  auto begin = end_of_records();
  for (auto number = next(); size_ - begin >= frame_header_bytes; ++number) {
    if (begin < held_from || begin + frame_header_bytes > held_to) {
      const auto n = std::min<std::uint64_t>(buffer.size(), size_ - begin);
      read_fully(file_, path_, begin, std::span{buffer}.first(n));
      held_from = begin;
      held_to = begin + n;
    }
    const auto at = std::span<const std::byte>{buffer}.subspan(begin - held_from);
    const auto content = content_bytes(header_of(at), number);
    if (!content)
      throw_torn(begin, "a damaged record", "an intact record " + std::to_string(number));
    if (*content > size_ - begin - frame_header_bytes)
      return;
    begin += frame_header_bytes + *content;
    add_record(begin);
  }
}

void segment::add_record(std::uint64_t end) {
  mutex_lock lock{mutex_};
  const bool is_long = end - end_ >= window_bytes;
  if (windows_.empty() || is_long || end_ - windows_.back().offset >= window_bytes)
    windows_.push_back({next_, end_});
  ++next_;
  end_ = end;
}

// -- reading one record

segment::extent segment::window_of(std::uint64_t number) const {
  mutex_lock lock{mutex_};
  if (number < first_ || number >= next_)
    throw_torn(end_, "records " + std::to_string(first_) + " to before " + std::to_string(next_),
               "record " + std::to_string(number));
  const auto behind =
      std::upper_bound(windows_.begin(), windows_.end(), number,
                       [](std::uint64_t n, const window& x) { return n < x.number; });
  const auto begin = *std::prev(behind);
  const auto end = behind == windows_.end() ? end_ : behind->offset;
  return {begin.number, begin.offset, end - begin.offset};
}

std::span<const std::byte> segment::read(std::uint64_t number, sample& into) const {
  const auto run = window_of(number);
  const auto bytes = into.scratch(run.size);
  read_fully(file_, path_, run.offset, bytes);
  auto rest = std::span<const std::byte>{bytes};
  for (auto at = run.first;; ++at) {
    const auto offset = run.offset + run.size - rest.size();
    const auto size = size_of_first(rest, at);
    if (!size)
      throw_torn(offset, "a damaged record", "an intact record " + std::to_string(at));
    if (at == number)
      return content_of(rest.first(*size), number, offset);
    rest = rest.subspan(*size);
  }
}

std::span<const std::byte> segment::content_of(std::span<const std::byte> record,
                                               std::uint64_t number, std::uint64_t offset) const {
  if (format_ == record_format::lines)
    return record.first(record.size() - 1);
  const auto content = record.subspan(frame_header_bytes);
  if (!is_content_of(header_of(record), content))
    throw_torn(offset, "damaged content", "an intact record " + std::to_string(number));
  return content;
}

/// Bytes of the record with which `bytes` begin; empty if they do not hold all of it.
std::optional<std::size_t> segment::size_of_first(std::span<const std::byte> bytes,
                                                  std::uint64_t number) const {
  if (format_ == record_format::lines)
    return line_end(bytes);
  if (bytes.size() < frame_header_bytes)
    return std::nullopt;
  const auto content = content_bytes(header_of(bytes), number);
  if (!content || *content > bytes.size() - frame_header_bytes)
    return std::nullopt;
  return frame_header_bytes + *content;
}

} // namespace leat
