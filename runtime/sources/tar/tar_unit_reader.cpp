#include "runtime/sources/tar/tar_unit_reader.hpp"

#include "runtime/sources/tar/tar_member_name.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace leat {

namespace {

/// The end of a compressed file is found by reading.
constexpr std::uint64_t unknown_size = std::numeric_limits<std::int64_t>::max();
/// What is read of a plain file to find a header. Content is read to its place.
constexpr std::size_t bytes_to_find_header = 8192;

std::uint64_t to_blocks(std::uint64_t bytes) {
  return (bytes + tar_reader::block_size - 1) / tar_reader::block_size * tar_reader::block_size;
}

std::unique_ptr<byte_window> window_of(const stream_opener& opener, std::size_t file,
                                       const stream_place& from, ahead_threads* ahead) {
  if (!opener.is_read_once(file))
    return {};
  const auto restart = tar_context_from(from.restart).restart;
  const bool is_plain = opener.seekable(file);
  return std::make_unique<byte_window>(
      opener.files().path(file), opener.open(file, from.offset, restart, ahead),
      is_plain ? bytes_to_find_header : stream_block_bytes, opener.blocks(),
      is_plain ? window_reads::straight : window_reads::in_blocks);
}

} // namespace

bool tar_record_content::has(const std::string& field) const {
  return std::any_of(fields.begin(), fields.end(), [&](const auto& x) { return x.name == field; });
}

tar_unit_reader::tar_unit_reader(const stream_opener& opener, std::size_t file,
                                 const stream_place& from, ahead_threads* ahead,
                                 std::atomic<bool>& others_told)
    : file_(file), path_(opener.files().path(file)), buffers_(opener.contents()),
      window_(window_of(opener, file, from, ahead)),
      headers_(path_, opener.seekable(file) ? opener.files().bytes(file) : unknown_size,
               reader_of(opener), {from.offset, tar_context_from(from.restart).global}),
      place_(from), others_told_(others_told) {}

byte_reader tar_unit_reader::reader_of(const stream_opener& opener) {
  if (!window_)
    return
        [&files = opener.files(), file = file_](std::uint64_t offset, std::span<std::byte> into) {
          return files.read(file, offset, into);
        };
  return [window = window_.get()](std::uint64_t offset, std::span<std::byte> into) {
    // Content is taken when its header is read: what lies before is never asked for again.
    window->forget_before(offset);
    const auto held = window->from(offset, into.size());
    const auto n = std::min(held.size(), into.size());
    std::copy_n(held.begin(), n, into.begin());
    return n;
  };
}

bool tar_unit_reader::next(stream_record& into) {
  if (!std::exchange(begun_, true))
    advance();
  if (!ahead_)
    return false;
  const auto first = *ahead_;
  auto content = std::make_shared<tar_record_content>();
  auto end = first.begin;
  while (ahead_ && ahead_->key == first.key && !content->has(ahead_->field)) {
    take(*ahead_, first.begin, *content);
    end = ahead_->end;
    advance();
  }
  into = {.unit = file_,
          .number = place_.number,
          .offset = first.begin,
          .length = end - first.begin,
          .key = to_code(tar_record_key{first.key, first.context}),
          .content = window_ ? std::move(content) : nullptr};
  move_place(end, first.context);
  return true;
}

void tar_unit_reader::move_place(std::uint64_t end, const tar_context& context) {
  ++place_.number;
  // After the last record there may be members that belong to none; they are read again.
  place_.offset = ahead_ ? ahead_->begin : to_blocks(end);
  place_.restart = to_code(ahead_ ? ahead_->context : context);
}

void tar_unit_reader::advance() {
  ahead_.reset();
  while (auto x = headers_.next()) {
    auto name = field_of(*x);
    if (!name) {
      count_passed_over(*x, others_);
      continue;
    }
    ahead_ = {
        .begin = x->begin,
        .end = x->offset + x->size,
        .offset = x->offset,
        .key = std::string{name->key},
        .field = std::move(name->field),
        .context = {window_ ? window_->restart(x->begin) : restart_point{}, headers_.global()}};
    return;
  }
  tell_others();
}

void tar_unit_reader::tell_others() {
  try {
    if (const auto begin = headers_.rest())
      others_.add(passed_over_reason::rest, "from byte " + std::to_string(*begin) + " on");
  } catch (const error& x) {
    // All samples have been read: what follows them may be anything.
    if (x.code() != errc::torn_file)
      throw;
    others_.add(passed_over_reason::rest, "which cannot be unpacked");
  }
  passed_over named;
  named.add(others_, path_ + ": ");
  if (!named.notice_text().empty() && !others_told_.exchange(true))
    tell(named);
}

void tar_unit_reader::take(const member& x, std::uint64_t begin, tar_record_content& to) {
  const auto size = x.end - x.offset;
  to.fields.push_back({.name = x.field, .size = static_cast<std::size_t>(size)});
  if (!window_)
    return;
  if (size > max_content - to.bytes || x.end - begin > max_span)
    throw error(errc::invalid_argument,
                {.stage = "tar_stream",
                 .sample = x.key,
                 .file = path_,
                 .offset = x.offset,
                 .got = "a record of more than 1 GiB in a compressed file or a pipe",
                 .needed = "an uncompressed file, or smaller records"});
  to.bytes += size;
  auto& field = to.fields.back();
  field.bytes = buffers_->take(field.size);
  window_->read_into({field.bytes.get(), field.size}, x.offset);
}

} // namespace leat
