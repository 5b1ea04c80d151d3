#include "runtime/sources/lines/line_source.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/sources/stream_codes.hpp"
#include "runtime/storage/record_blocks.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace leat {

static_assert(shared_bytes::slack >= line_slack);

namespace {

/// floor(size * r / ranges)
std::uint64_t share(std::uint64_t size, std::uint64_t r, std::uint64_t ranges) {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(size) * r / ranges);
}

/// For a line's bytes, with its slack.
std::span<std::byte> room_for(std::uint64_t bytes, sample& into) {
  const auto room = into.scratch(bytes + line_slack);
  room[bytes] = std::byte{'\n'};
  return room.first(bytes);
}

/// The line, with a line feed after it.
std::span<const std::byte> line_in(const shared_bytes& block, const stream_record& x) {
  return block.all().subspan(static_cast<std::size_t>(x.offset - block.begin),
                             static_cast<std::size_t>(x.length));
}

/// Each earlier line has at least one byte.
void check_line_place(const stream_opener& opener, const line_range& part,
                      const stream_place& from) {
  opener.check_place(part.file, from.offset, restart_from(from.restart));
  if (from.number == 0 ? from != stream_place{}
                       : from.offset < part.begin || from.number > from.offset - part.begin)
    refuse_state("line " + std::to_string(from.number) + " at byte " + std::to_string(from.offset)
                     + " of \"" + opener.files().path(part.file) + '"',
                 "lines from byte " + std::to_string(part.begin) + " on");
}

/// Bad samples name their line. `part`: gives that of the record's unit.
template <class Part>
void parse_line(const line_format& format, std::span<const std::byte> line,
                const stream_record& record, Part part, sample& into) {
  try {
    format.parse(line, into);
  } catch (const bad_sample& problem) {
    throw bad_sample(problem.why(),
                     name_of_line(part(), record.number, record.offset) + ": " + problem.what());
  }
}

std::size_t file_number(std::uint64_t unit, std::uint64_t ranges) {
  return static_cast<std::size_t>(unit / ranges);
}

} // namespace

line_source::line_source(const std::string& name, const std::vector<std::string>& patterns,
                         std::uint64_t ranges, line_format format)
    : line_source(name, find_files(patterns, name, file_kinds::with_pipes), ranges,
                  std::move(format), read_pattern::sequential) {}

line_source::line_source(std::string name, file_set files, std::uint64_t ranges, line_format format,
                         read_pattern pattern)
    : name_(std::move(name)), ranges_(ranges), format_(std::move(format)),
      opener_(std::move(files), pattern) {
  if (ranges > max_units / opener_.files().size())
    refuse_argument(name_ + ".ranges",
                    std::to_string(ranges) + " of each of " + std::to_string(opener_.files().size())
                        + " files",
                    "at most " + std::to_string(max_units) + " ranges in all");
  for (std::size_t i = 0; i < opener_.files().size(); ++i)
    if (ranges > 1 && !opener_.seekable(i))
      throw_file_error(errc::invalid_argument, name_, opener_.files().path(i),
                       "ranges of a file that is compressed or a pipe",
                       "ranges=1, or an uncompressed file");
  is_near_ = pattern == read_pattern::sequential && opener_.files().are_near();
  for (std::size_t i = 0; i < opener_.files().size(); ++i)
    is_near_ = is_near_ && opener_.seekable(i);
}

line_range line_source::part(std::uint64_t unit) const {
  const auto file = static_cast<std::size_t>(unit / ranges_);
  if (!opener_.seekable(file))
    return {unit, file, 0, std::numeric_limits<std::uint64_t>::max()};
  const auto bytes = opener_.files().bytes(file);
  const auto r = unit % ranges_;
  return {unit, file, share(bytes, r, ranges_), share(bytes, r + 1, ranges_)};
}

std::unique_ptr<unit_reader> line_source::open(std::uint64_t unit, const stream_place& from,
                                               const reader_options& options) const {
  const auto range = part(unit);
  check_line_place(opener_, range, from);
  opener_.notice_reread(range.file, from.offset, restart_from(from.restart));
  return std::make_unique<line_reader>(opener_, range, from, options, format_.passes_blank_lines);
}

void line_source::check(const stream_record& record) const {
  opener_.check_record(file_number(record.unit, ranges_), record.offset, restart_from(record.key),
                       record.length, line_reader::max_line);
}

stored_objects* line_source::locate(const stream_record& record, std::vector<extent>& into) const {
  const auto file = file_number(record.unit, ranges_);
  if (record.content || record.surroundings || !opener_.seekable(file))
    return nullptr;
  check(record);
  into.push_back({.file = file, .offset = record.offset, .size = record.length});
  return &opener_.files().objects();
}

void line_source::read(const stream_record& record, sample& into) const {
  check(record);
  if (const auto* block = dynamic_cast<const line_block*>(record.surroundings.get())) {
    const auto line = line_in(*block->held, record);
    source_access::keep_alive(into, record.surroundings);
    into.count_read(line.size());
    return parse_line(
        format_, line, record, [&] { return part(record.unit); }, into);
  }
  const auto bytes = room_for(record.length, into);
  if (const auto* content = dynamic_cast<const line_content*>(record.content.get()))
    std::copy(content->bytes.begin(), content->bytes.end(), bytes.begin());
  else if (!read_with_others(record, bytes, into))
    opener_.read_again(file_number(record.unit, ranges_), record.offset, restart_from(record.key),
                       bytes, sample_access::stop_of(into));
  into.count_read(bytes.size());
  parse_line(
      format_, bytes, record, [&] { return part(record.unit); }, into);
}

bool line_source::read_with_others(const stream_record& record, std::span<std::byte> bytes,
                                   const sample& into) const {
  auto* blocks = source_access::blocks_of(into);
  const auto file = file_number(record.unit, ranges_);
  return blocks && bytes.size() <= record_blocks::largest_record && opener_.seekable(file)
         && blocks->read(opener_.files(), file, record.offset, bytes, sample_access::stop_of(into));
}

payload_ptr line_source::read_content(const stream_record& record,
                                      const std::stop_token& stop) const {
  check(record);
  auto content = std::make_shared<line_content>();
  content->bytes.resize(static_cast<std::size_t>(record.length));
  opener_.read_again(file_number(record.unit, ranges_), record.offset, restart_from(record.key),
                     content->bytes, stop);
  return content;
}

void line_source::append_id(const stream_record& record, std::string& to) const {
  to += opener_.files().name(file_number(record.unit, ranges_));
  to += ranges_ == 1 ? "/" : "/@";
  append_number(to, ranges_ == 1 ? record.number : record.offset);
}

} // namespace leat
