#include "runtime/sources/lines/line_reader.hpp"

#include "runtime/sources/stream_codes.hpp"
#include "runtime/storage/file_kind.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace leat {

namespace {

/// How many bytes come before the first "\n", or all.
std::size_t before_newline(std::span<const std::byte> bytes) {
  const auto* found = bytes.empty() ? nullptr : std::memchr(bytes.data(), '\n', bytes.size());
  return found ? static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data())
               : bytes.size();
}

/// Where reading begins: finding the first line of a part takes the byte before it.
std::uint64_t first_byte(const line_range& part, const stream_place& from) {
  if (from.number > 0)
    return from.offset;
  return part.begin - std::min<std::uint64_t>(part.begin, 1);
}

} // namespace

line_reader::line_reader(const stream_opener& opener, const line_range& part,
                         const stream_place& from, const reader_options& options)
    : opener_(opener), part_(part), options_(options), path_(opener.files().path(part.file)),
      has_content_(!opener.seekable(part.file)), begun_(from.number > 0), number_(from.number),
      at_(first_byte(part, from)), restart_(from.restart) {
  window_ = window_at(at_);
  if (!has_content_ && !options.surroundings)
    ends_.emplace(opener.files().objects(), part.file);
}

std::unique_ptr<byte_window> line_reader::window_at(std::uint64_t offset) const {
  return std::make_unique<byte_window>(
      path_, opener_.open(part_.file, offset, restart_from(restart_), options_.ahead),
      stream_block_bytes, opener_.blocks());
}

bool line_reader::next(stream_record& into) {
  if (!std::exchange(begun_, true))
    at_ = first_line();
  if (at_ >= part_.end)
    return false;
  if (const auto end = find_end()) {
    into = {.unit = part_.unit, .number = number_, .offset = at_, .length = *end - at_};
    if (into.length > max_line)
      too_long();
    ++number_;
    at_ = *end + 1;
    if (!is_passed_)
      window_->forget_before(at_);
    return true;
  }
  if (std::exchange(is_passed_, false))
    window_ = window_at(at_);
  if (window_->from(at_).empty())
    return false;
  const auto length = length_of_line();
  into = {.unit = part_.unit, .number = number_, .offset = at_, .length = length};
  if (has_content_) {
    into.key = to_code(window_->restart(at_));
    auto content = std::make_shared<line_content>();
    window_->move_to(content->bytes, at_, length);
    into.content = std::move(content);
  } else if (options_.surroundings && length >= shortest_shared) {
    into.surroundings = block_of(length);
  }
  ++number_;
  // The last line may have no newline.
  at_ += length + (window_->from(at_ + length).empty() ? 0 : 1);
  window_->forget_before(at_);
  if (has_content_)
    restart_ = to_code(window_->restart(at_));
  return true;
}

std::optional<std::uint64_t> line_reader::find_end() {
  // The last block is read in any case: the store does not look into the last page.
  if (!ends_ || opener_.files().bytes(part_.file) - at_ <= stream_block_bytes)
    return std::nullopt;
  if (!is_passed_) { // what has been read tells it for nothing
    const auto held = window_->from(at_, 0);
    const auto before = before_newline(held);
    if (before < held.size())
      return at_ + before;
  }
  const auto end = ends_->next(at_, max_line);
  is_passed_ = is_passed_ || end;
  return end;
}

stream_place line_reader::place() const {
  if (number_ == 0)
    return {};
  return {.number = number_, .offset = at_, .restart = restart_};
}

std::uint64_t line_reader::first_line() {
  if (part_.begin == 0) {
    check_kind();
    return 0;
  }
  // The place after the "\n" that is the last byte before the part, or after the next one.
  while (at_ < part_.end) {
    const auto held = window_->from(at_);
    if (held.empty())
      return part_.end;
    const auto before = before_newline(held);
    at_ += before;
    if (before < held.size())
      return at_ + 1;
    window_->forget_before(at_);
  }
  return part_.end;
}

void line_reader::check_kind() {
  auto kind = kind_of_file(path_, window_->from(0));
  if (kind && kind.is != file_kind::form::text)
    throw error(errc::invalid_argument, {.stage = "lines",
                                         .file = path_,
                                         .got = kind.what + ", which has no lines",
                                         .needed = std::move(kind.instead)});
}

std::uint64_t line_reader::length_of_line() {
  std::uint64_t length = 0;
  for (;;) {
    const auto held = window_->from(at_ + length);
    const auto before = before_newline(held);
    length += before;
    if (length > max_line)
      too_long();
    // Nothing is held at the end of the file.
    if (held.empty() || before < held.size())
      return length;
    // Content is kept until its end is known.
    if (!has_content_ && length >= stream_block_bytes)
      window_->forget_before(at_ + length);
  }
}

payload_ptr line_reader::block_of(std::uint64_t length) {
  if (length >= stream_block_bytes || window_->from(at_).size() <= length)
    return nullptr; // no line feed, or its beginning is forgotten
  auto held = window_->share();
  if (!block_ || block_->held != held)
    block_ = std::make_shared<const line_block>(std::move(held));
  return block_;
}

void line_reader::too_long() const {
  throw error(errc::invalid_argument, {.stage = "lines",
                                       .file = path_,
                                       .offset = at_,
                                       .got = "a line of more than 256 MiB",
                                       .needed = "shorter lines"});
}

} // namespace leat
