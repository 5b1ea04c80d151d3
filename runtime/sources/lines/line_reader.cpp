#include "runtime/sources/lines/line_reader.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/sources/stream_codes.hpp"
#include "runtime/storage/file_kind.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace leat {

namespace {

/// How many bytes come before the first "\n", or all.
std::size_t before_newline(std::span<const std::byte> bytes) {
  const auto* found = bytes.empty() ? nullptr : std::memchr(bytes.data(), '\n', bytes.size());
  return found ? static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data())
               : bytes.size();
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Where reading begins: finding the first line of a part takes the byte before it.
std::uint64_t first_byte(const line_range& part, const stream_place& from) {
  if (from.number > 0)
    return from.offset;
  return part.begin - std::min<std::uint64_t>(part.begin, 1);
}

/// Blocks of which nothing is kept are small: they are copied out of a mapping, where there is one,
/// and their lines are found in the nearest cache.
std::size_t block_bytes(const stream_opener& opener, std::size_t file,
                        const reader_options& options) {
  constexpr std::size_t small = std::size_t{28} << 10;
  const bool is_found_only =
      !options.surroundings && opener.files().are_near() && opener.seekable(file);
  return is_found_only ? small : stream_block_bytes;
}

} // namespace

std::string name_of_line(const line_range& part, std::uint64_t number, std::uint64_t offset) {
  return part.begin == 0 ? "line " + std::to_string(number + 1)
                         : "the line at byte " + std::to_string(offset);
}

line_reader::line_reader(const stream_opener& opener, const line_range& part,
                         const stream_place& from, const reader_options& options, bool passes_blank)
    : part_(part), options_(options), passes_blank_(passes_blank),
      path_(opener.files().path(part.file)), has_content_(!opener.seekable(part.file)),
      begun_(from.number > 0), number_(from.number), at_(first_byte(part, from)),
      restart_(from.restart),
      window_(path_, opener.open(part.file, at_, restart_from(restart_), options.ahead),
              block_bytes(opener, part.file, options), opener.blocks()) {}

bool line_reader::next(stream_record& into) {
  if (!std::exchange(begun_, true))
    at_ = first_line();
  while (at_ < part_.end && !window_.from(at_).empty())
    if (take(into))
      return true;
  return false;
}

bool line_reader::take(stream_record& into) {
  const auto line = read_line();
  into = {.unit = part_.unit, .number = number_, .offset = at_, .length = line.length};
  if (!line.is_blank)
    set_content(line, into);
  ++number_;
  // The last line may have no newline.
  at_ += line.length + (window_.from(at_ + line.length).empty() ? 0 : 1);
  window_.forget_before(at_);
  if (has_content_)
    restart_ = to_code(window_.restart(at_));
  return !line.is_blank;
}

void line_reader::set_content(const found_line& line, stream_record& into) {
  if (has_content_) {
    into.key = to_code(window_.restart(at_));
    auto content = std::make_shared<line_content>();
    window_.move_to(content->bytes, at_, line.length);
    into.content = std::move(content);
  } else if (options_.surroundings && line.length >= shortest_shared) {
    into.surroundings = block_of(line.length);
  }
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
    const auto held = window_.from(at_);
    if (held.empty())
      return part_.end;
    const auto before = before_newline(held);
    at_ += before;
    if (before < held.size())
      return at_ + 1;
    window_.forget_before(at_);
  }
  return part_.end;
}

void line_reader::check_kind() {
  auto kind = kind_of_file(path_, window_.from(0));
  if (kind && kind.is != file_kind::form::text)
    throw_file_error(errc::invalid_argument, "lines", path_, kind.what + ", which has no lines",
                     std::move(kind.instead));
}

line_reader::found_line line_reader::read_line() {
  found_line line{.is_blank = passes_blank_};
  for (;;) {
    const auto held = window_.from(at_ + line.length);
    const auto before = before_newline(held);
    line.is_blank = line.is_blank && is_blank(text_of(held.first(before)));
    line.length += before;
    if (line.length > max_line)
      too_long();
    // Nothing is held at the end of the file.
    if (held.empty() || before < held.size())
      return line;
    // Content is kept until its end is known.
    if (!has_content_ && line.length >= stream_block_bytes)
      window_.forget_before(at_ + line.length);
  }
}

payload_ptr line_reader::block_of(std::uint64_t length) {
  if (length >= stream_block_bytes || window_.from(at_).size() <= length)
    return nullptr; // no line feed, or its beginning is forgotten
  auto held = window_.share();
  if (!block_ || block_->held != held)
    block_ = std::make_shared<const line_block>(std::move(held));
  return block_;
}

void line_reader::too_long() const {
  throw error(errc::invalid_argument,
              {.stage = "lines",
               .file = path_,
               .offset = at_,
               .got = "more than 256 MiB in " + name_of_line(part_, number_, at_),
               .needed = "shorter lines"});
}

} // namespace leat
