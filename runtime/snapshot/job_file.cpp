#include "runtime/snapshot/job_file.hpp"

#include "runtime/base/framed_bytes.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/snapshot/snapshot_message.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view job_file_magic = "leat.job";
constexpr std::uint32_t job_file_version = 1;
constexpr std::size_t version_at = 8;
constexpr std::size_t zero_at = 12;
constexpr std::size_t epoch_at = 16;
constexpr std::size_t step_at = 24;
constexpr std::size_t world_size_at = 32;
constexpr std::size_t head_bytes = 40;
// An entry of the index: offset and length.
constexpr std::size_t entry_bytes = 16;
// The end: length of the index, and the checksum.
constexpr std::size_t end_bytes = 24;

set_name read_head(const std::string& path, std::string_view head) {
  if (!head.starts_with(job_file_magic))
    refuse_snapshot(path, "something other than the snapshot of a whole job",
                    "a file that begins with \"" + std::string{job_file_magic} + '"');
  const auto version = little_endian_at<std::uint32_t>(head, version_at);
  if (version != job_file_version)
    refuse_snapshot(path, "version " + std::to_string(version) + " of a job's file",
                    "version " + std::to_string(job_file_version) + ", or the leat that wrote it");
  if (little_endian_at<std::uint32_t>(head, zero_at) != 0)
    refuse_snapshot(path, "a head with numbers that mean nothing", "zeros after the version");
  const set_name name{little_endian_at<std::uint64_t>(head, epoch_at),
                      little_endian_at<std::uint64_t>(head, step_at),
                      little_endian_at<std::uint64_t>(head, world_size_at)};
  if (name.world_size == 0 || name.world_size > max_world_size)
    refuse_snapshot(path, "a job of " + std::to_string(name.world_size) + " ranks",
                    "1 to " + std::to_string(max_world_size));
  return name;
}

/// Refuses places that overlap, leave gaps, or lie elsewhere than between `first` and `last`.
void check_places(const std::string& path, std::vector<part_place> parts, std::uint64_t last) {
  std::sort(parts.begin(), parts.end(),
            [](const part_place& a, const part_place& b) { return a.offset < b.offset; });
  std::uint64_t next = head_bytes;
  for (const auto& x : parts) {
    if (x.offset != next || x.length == 0 || x.length > max_snapshot_bytes
        || x.length > last - next)
      refuse_snapshot(
          path, "a part of " + std::to_string(x.length) + " bytes at " + std::to_string(x.offset),
          "one at " + std::to_string(next) + ", of at most "
              + std::to_string(std::min<std::uint64_t>(max_snapshot_bytes, last - next))
              + " bytes");
    next += x.length;
  }
  if (next != last)
    refuse_snapshot(path, std::to_string(last - next) + " bytes between the parts and the index",
                    "nothing there");
}

} // namespace

std::string job_file_head(const set_name& x) {
  std::string head{job_file_magic};
  append_little_endian(head, job_file_version);
  append_little_endian(head, std::uint32_t{0});
  append_little_endian(head, x.epoch);
  append_little_endian(head, x.step);
  append_little_endian(head, x.world_size);
  return head;
}

std::string job_file_tail(const set_name& x, const std::vector<part_place>& parts) {
  std::string tail;
  tail.reserve(parts.size() * entry_bytes + end_bytes);
  for (const auto& part : parts) {
    append_little_endian(tail, part.offset);
    append_little_endian(tail, part.length);
  }
  append_little_endian(tail, std::uint64_t{tail.size()});
  const auto hash = checksum_of(job_file_head(x), tail);
  append_little_endian(tail, hash.low);
  append_little_endian(tail, hash.high);
  return tail;
}

job_file_reader::job_file_reader(std::string path)
    : path_(std::move(path)), file_(file_descriptor::open(path_)) {
  const auto size = version_of(file_, path_).size;
  if (size < head_bytes + end_bytes)
    refuse_snapshot(path_, std::to_string(size) + " bytes",
                    "at least " + std::to_string(head_bytes + end_bytes)
                        + ", the lengths of its head and end");
  read_index(size);
}

job_file_reader::job_file_reader(const fs::path& directory, const set_name& set)
    : job_file_reader((directory / to_string(set)).string()) {
  if (name_ != set)
    refuse_snapshot(path_, "the content of " + to_string(name_),
                    "the content that its name says: it was renamed");
}

void job_file_reader::read_index(std::uint64_t size) {
  const auto head = read(0, head_bytes);
  name_ = read_head(path_, head);
  const auto expected = name_.world_size * entry_bytes;
  if (size - head_bytes - end_bytes < expected)
    refuse_snapshot(path_, std::to_string(size) + " bytes",
                    "at least " + std::to_string(expected) + " for the index of "
                        + std::to_string(name_.world_size) + " ranks: the file is cut short");
  const auto index_at = size - end_bytes - expected;
  const std::string_view all = head;
  const auto tail = read(index_at, expected + end_bytes);
  const auto length_at = tail.size() - end_bytes;
  const auto length = little_endian_at<std::uint64_t>(tail, length_at);
  if (length != expected)
    refuse_snapshot(path_, "an index of " + std::to_string(length) + " bytes",
                    std::to_string(expected) + " for " + std::to_string(name_.world_size)
                        + " ranks: the file is cut short or damaged");
  const hash128 written{.low = little_endian_at<std::uint64_t>(tail, length_at + 8),
                        .high = little_endian_at<std::uint64_t>(tail, length_at + 16)};
  const auto found = checksum_of(all, std::string_view{tail}.substr(0, length_at + 8));
  if (found != written)
    refuse_snapshot(path_, "checksum " + to_string(found),
                    to_string(written) + ", as its end says: the index is damaged");
  parts_.reserve(name_.world_size);
  for (std::size_t at = 0; at < length_at; at += entry_bytes)
    parts_.push_back(
        {little_endian_at<std::uint64_t>(tail, at), little_endian_at<std::uint64_t>(tail, at + 8)});
  check_places(path_, parts_, index_at);
}

std::string job_file_reader::read(std::uint64_t offset, std::size_t length) const {
  std::string bytes(length, '\0');
  const auto count = read_at(file_, path_, offset, std::as_writable_bytes(std::span{bytes}));
  if (count != length)
    refuse_snapshot(path_, "an end at byte " + std::to_string(offset + count),
                    "bytes up to " + std::to_string(offset + length) + ": it was cut meanwhile");
  return bytes;
}

std::uint64_t job_file_reader::largest_part() const noexcept {
  std::uint64_t most = 0;
  for (const auto& x : parts_)
    most = std::max(most, x.length);
  return most;
}

snapshot job_file_reader::decoded(std::uint64_t rank, std::string_view bytes) const {
  auto part = [&] {
    try {
      return decode(bytes, path_);
    } catch (const error& problem) {
      auto details = problem.details();
      details.got = "part of rank " + std::to_string(rank) + ": " + details.got;
      throw error(problem.code(), std::move(details));
    }
  }();
  if (name_of(part) != part_name{name_, rank})
    refuse_snapshot(path_, to_string(name_of(part)),
                    "the part " + to_string(part_name{name_, rank}));
  return part;
}

std::string job_file_reader::part_bytes(std::uint64_t rank) const {
  auto bytes = read(parts_.at(rank).offset, parts_.at(rank).length);
  decoded(rank, bytes);
  return bytes;
}

snapshot job_file_reader::part(std::uint64_t rank) const {
  return decoded(rank, read(parts_.at(rank).offset, parts_.at(rank).length));
}

std::vector<snapshot> job_file_reader::parts() const {
  std::vector<snapshot> all;
  all.reserve(parts_.size());
  for (std::uint64_t rank = 0; rank < parts_.size(); ++rank)
    all.push_back(part(rank));
  return all;
}

void job_file_reader::check_parts() const {
  const auto first = part(0);
  for (std::uint64_t rank = 1; rank < parts_.size(); ++rank)
    check_together(first, part(rank));
}

snapshot_file snapshot_file_at(const std::string& path) {
  const auto name = fs::path{path}.filename().string();
  std::error_code unknown;
  // To open a FIFO would wait for its writer.
  if (fs::exists(path, unknown) && !fs::is_regular_file(path, unknown))
    return snapshot_file::other;
  const auto file = file_descriptor::open(path);
  if (parse_set_name(name))
    return snapshot_file::job;
  std::array<char, job_file_magic.size()> start{};
  const auto count = read_at(file, path, 0, std::as_writable_bytes(std::span{start}));
  const std::string_view begins{start.data(), count};
  if (begins == job_file_magic)
    return snapshot_file::job;
  return begins == snapshot_magic ? snapshot_file::part : snapshot_file::other;
}

} // namespace leat
