#include "runtime/sources/feed/feed_identity.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/framed_bytes.hpp"
#include "runtime/base/value_bytes.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/whole_file.hpp"

#include <system_error>

namespace leat {

namespace {

constexpr std::string_view identity_file = "feed";
constexpr std::string_view identity_magic = "LEATFEED";
constexpr std::uint64_t identity_version = 1;
constexpr std::size_t checksum_bytes = 16;
constexpr std::size_t most_identity_bytes = 1024;
constexpr const char* identity_stage = "feed's journal";

std::string checksum_text(std::string_view of) {
  const auto sum = checksum_of(of, {});
  std::string text;
  append_little_endian(text, sum.low);
  append_little_endian(text, sum.high);
  return text;
}

[[noreturn]] void throw_damaged(const std::string& file) {
  throw_file_error(errc::torn_file, identity_stage, file, "bytes that are damaged",
                   "what a feed writes there: restore the directory from a copy, or begin with an "
                   "empty one");
}

feed_identity read_identity(value_reader& from) {
  feed_identity x;
  x.stream.name = from.text();
  from.as_it_is(x.stream.id);
  x.format = from.flag() ? feed_format::samples : feed_format::lines;
  x.has_places = from.flag();
  if (from.flag())
    x.ended_at = from.number(most_record_number);
  from.end();
  return x;
}

std::string text_of(feed_format x) {
  return x == feed_format::lines ? "lines" : "samples";
}

std::string text_of(const feed_identity& x) {
  return text_of(x.format) + (x.has_places ? " of a queue or of files" : "") + " of feed \""
         + x.stream.name + '"';
}

} // namespace

std::string encode(const feed_identity& x) {
  auto text = std::string{identity_magic} + bytes_written_by([&](value_writer& to) {
                to.number(identity_version);
                to.text(x.stream.name);
                to.as_it_is(x.stream.id);
                to.flag(x.format == feed_format::samples);
                to.flag(x.has_places);
                to.flag(x.ended_at.has_value());
                if (x.ended_at)
                  to.number(*x.ended_at);
              });
  return text += checksum_text(text);
}

feed_identity decode_feed_identity(std::string_view bytes, const std::string& file) try {
  if (!bytes.starts_with(identity_magic)
      || bytes.size() < identity_magic.size() + 1 + checksum_bytes)
    throw_damaged(file);
  const auto content = bytes.substr(0, bytes.size() - checksum_bytes);
  if (bytes.substr(content.size()) != checksum_text(content))
    throw_damaged(file);
  value_reader from{content.substr(identity_magic.size())};
  if (const auto version = from.number(); version != identity_version)
    throw_file_error(errc::mismatch, identity_stage, file,
                     "version " + std::to_string(version) + " of its format",
                     "version " + std::to_string(identity_version)
                         + ": continue with the version of leat that wrote it");
  return read_identity(from);
} catch (const torn_value&) {
  throw_damaged(file);
}

feed_identity identity_in(const std::filesystem::path& directory, const feed_identity& own,
                          std::uint64_t records, bool takes_over) {
  const auto path = directory / identity_file;
  std::error_code failure;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, failure))) {
    if (records > 0 && !takes_over)
      throw_file_error(errc::mismatch, identity_stage, directory.string(),
                       std::to_string(records) + " records, and no file that says of which feed",
                       "a directory of this feed, or an empty one");
    write_durably(path, encode(own));
    return own;
  }
  auto found = decode_feed_identity(
      read_whole_file(path.string(), most_identity_bytes, identity_stage), path.string());
  if (found.stream.name != own.stream.name || found.format != own.format
      || found.has_places != own.has_places)
    throw_file_error(errc::mismatch, identity_stage, directory.string(), text_of(found),
                     text_of(own) + ": give each feed a directory of its own");
  if (found.ended_at.value_or(records) != records)
    throw_file_error(
        errc::mismatch, identity_stage, directory.string(), std::to_string(records) + " records",
        "the " + std::to_string(*found.ended_at) + " that it had when its source ended");
  return found;
}

void note_end_of_feed(const std::filesystem::path& directory, feed_identity& own,
                      std::uint64_t records) {
  own.ended_at = records;
  write_durably(directory / identity_file, encode(own));
}

} // namespace leat
