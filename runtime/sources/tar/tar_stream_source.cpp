#include "runtime/sources/tar/tar_stream_source.hpp"

#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/sources/stream_codes.hpp"
#include "runtime/sources/tar/tar_member_name.hpp"
#include "runtime/sources/tar/tar_unit_reader.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// The bytes of a record that was read again, with its headers.
class tar_record_bytes final : public payload {
public:
  std::vector<std::byte> bytes;
};

void lend_content(const std::shared_ptr<const tar_record_content>& from, sample& into) {
  for (const auto& x : from->fields)
    into.borrow(x.name, {x.bytes.get(), x.size});
  source_access::keep_alive(into, from);
}

[[noreturn]] void has_changed(const std::string& file, const stream_record& x,
                              const std::string& key) {
  throw error(errc::torn_file, {.stage = "tar_stream",
                                .sample = key,
                                .file = file,
                                .offset = x.offset,
                                .got = "members other than before",
                                .needed = "an unchanged file"});
}

/// A record's bytes as an archive of their own, with the offsets that they have in the file.
tar_reader members_of(std::string file, const stream_record& x, tar_attributes global,
                      std::span<const std::byte> bytes) {
  auto read = [begin = x.offset, bytes](std::uint64_t offset, std::span<std::byte> into) {
    const auto rest = bytes.subspan(std::min<std::uint64_t>(offset - begin, bytes.size()));
    const auto n = std::min(rest.size(), into.size());
    std::copy_n(rest.begin(), n, into.begin());
    return n;
  };
  // Padding after the last member does not belong to the record.
  const auto end = x.offset + x.length + tar_reader::block_size;
  return {std::move(file), end, read, {x.offset, std::move(global)}};
}

} // namespace

tar_stream_source::tar_stream_source(const std::vector<std::string>& patterns,
                                     std::size_t pool_bytes)
    : tar_stream_source(find_files(patterns, "tar_stream", file_kinds::with_pipes), pool_bytes) {}

tar_stream_source::tar_stream_source(file_set files, std::size_t pool_bytes)
    : opener_(std::move(files), read_pattern::normal, pool_bytes) {}

std::unique_ptr<unit_reader> tar_stream_source::open(std::uint64_t unit, const stream_place& from,
                                                     const reader_options& options) const {
  const auto restart = tar_context_from(from.restart).restart;
  check(unit, from, restart);
  opener_.notice_reread(unit, from.offset, restart);
  return std::make_unique<tar_unit_reader>(opener_, unit, from, options.ahead, others_told_);
}

/// A record has at least a header, and what follows it begins at a block.
void tar_stream_source::check(std::uint64_t unit, const stream_place& from,
                              restart_point restart) const {
  // A tear may have cut the last padding.
  const std::uint64_t padding = opener_.seekable(unit) ? tar_reader::block_size - 1 : 0;
  opener_.check_place(unit, from.offset - std::min(from.offset, padding), restart);
  if (from.number == 0 ? from != stream_place{}
                       : from.offset % tar_reader::block_size != 0
                             || from.number > from.offset / tar_reader::block_size)
    refuse_state("record " + std::to_string(from.number) + " at byte " + std::to_string(from.offset)
                     + " of \"" + opener_.files().path(unit) + '"',
                 "one that begins at a multiple of " + std::to_string(tar_reader::block_size)
                     + " bytes");
}

stored_objects* tar_stream_source::locate(const stream_record& record,
                                          std::vector<extent>& into) const {
  if (record.content || !opener_.seekable(record.unit))
    return nullptr;
  opener_.check_record(record.unit, record.offset, {}, record.length, tar_unit_reader::max_span);
  into.push_back({.file = record.unit, .offset = record.offset, .size = record.length});
  return &opener_.files().objects();
}

void tar_stream_source::decode(const stream_record& record, std::span<const std::byte> bytes,
                               sample& into) const {
  const auto [key, context] = tar_record_key_from(record.key);
  auto members = members_of(opener_.files().path(record.unit), record, context.global, bytes);
  bool is_last = false;
  while (!is_last) {
    const auto x = members.next();
    if (!x)
      has_changed(members.file(), record, key);
    const auto name = field_of(*x);
    if (!name)
      continue;
    const auto begin = x->offset - record.offset;
    if (name->key != key || begin > bytes.size() || x->size > bytes.size() - begin)
      has_changed(members.file(), record, key);
    into.borrow(name->field, bytes.subspan(begin, x->size));
    is_last = begin + x->size == bytes.size();
  }
}

void tar_stream_source::read(const stream_record& record, sample& into) const {
  into.count_read(record.length);
  if (auto content = std::dynamic_pointer_cast<const tar_record_content>(record.content))
    return lend_content(content, into);
  if (const auto* again = dynamic_cast<const tar_record_bytes*>(record.content.get())) {
    auto bytes = into.scratch(again->bytes.size());
    std::copy(again->bytes.begin(), again->bytes.end(), bytes.begin());
    return decode(record, bytes, into);
  }
  const auto restart = checked_restart(record);
  auto bytes = into.scratch(record.length);
  opener_.read_again(record.unit, record.offset, restart, bytes, sample_access::stop_of(into));
  decode(record, bytes, into);
}

payload_ptr tar_stream_source::read_content(const stream_record& record,
                                            const std::stop_token& stop) const {
  const auto restart = checked_restart(record);
  auto content = std::make_shared<tar_record_bytes>();
  content->bytes.resize(static_cast<std::size_t>(record.length));
  opener_.read_again(record.unit, record.offset, restart, content->bytes, stop);
  return content;
}

restart_point tar_stream_source::checked_restart(const stream_record& record) const {
  const auto restart = opener_.seekable(record.unit)
                           ? restart_point{}
                           : tar_record_key_from(record.key).context.restart;
  opener_.check_record(record.unit, record.offset, restart, record.length,
                       tar_unit_reader::max_span);
  return restart;
}

void tar_stream_source::append_id(const stream_record& record, std::string& to) const {
  to += opener_.files().name(record.unit);
  to += '/';
  to += tar_record_key_from(record.key).key;
}

} // namespace leat
