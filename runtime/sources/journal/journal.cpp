#include "runtime/sources/journal/journal.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/sources/journal/frame.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/open_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

/// Earlier files that stay open, each with the places of its records.
constexpr std::size_t max_open = 16;

constexpr std::size_t number_digits = 20;

std::string_view suffix_of(record_format format) {
  return format == record_format::lines ? ".lines" : ".frames";
}

std::string_view other_suffix(record_format format) {
  return suffix_of(format == record_format::lines ? record_format::frames : record_format::lines);
}

file_descriptor lock_directory(const fs::path& directory) {
  const auto path = (directory / "lock").string();
  auto lock =
      opened([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644); });
  if (!lock)
    throw_errno("journal", path, "a lock file that can be opened, and is no symbolic link");
  if (uninterrupted([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB); }) != 0)
    throw journal_in_use{directory.string()};
  return lock;
}

/// The number that a file is named by.
std::uint64_t number_of(const fs::path& file) {
  const auto text = file.stem().string();
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size() || text.size() != number_digits)
    throw_file_error(errc::mismatch, "journal", file.string(),
                     "a file that is not part of a journal",
                     "only files of a journal: give the journal a directory of its own");
  return number;
}

} // namespace

journal_in_use::journal_in_use(const std::string& directory)
    : error(errc::io,
            {.stage = "journal",
             .file = directory,
             .got = "a journal that is in use",
             .needed = "one that no other process or loader uses: wait until that one has ended"}) {
}

journal::journal(fs::path directory, const journal_format& options)
    : directory_(std::move(directory)), options_(options) {
  make_directory_durably(directory_);
  lock_ = lock_directory(directory_);
  find_files();
  if (files_.empty())
    begin_file(0, {});
  else
    writing_ = last_ = files_.rbegin()->second = open(files_.rbegin()->first);
  if (options_.format == record_format::frames)
    writing_->cut_tail();
}

void journal::find_files() {
  std::error_code failure;
  for (const auto& entry : open_directory(directory_, failure)) {
    const auto& path = entry.path();
    if (path.extension() == temporary_suffix)
      remove_file(path);
    else if (path.extension() == suffix_of(options_.format))
      files_.emplace(number_of(path), nullptr);
    else if (path.extension() == other_suffix(options_.format))
      throw_file_error(errc::mismatch, "journal", path.string(),
                       "records of another kind of source",
                       "a journal of " + std::string{suffix_of(options_.format)});
  }
  if (failure)
    throw io_error(failure.value(), {.stage = "journal",
                                     .file = directory_.string(),
                                     .needed = "a directory that can be read"});
}

fs::path journal::path_of(std::uint64_t first) const {
  std::array<char, number_digits + 1> digits;
  std::snprintf(digits.data(), digits.size(), "%020llu", static_cast<unsigned long long>(first));
  return directory_ / (digits.data() + std::string{suffix_of(options_.format)});
}

std::uint64_t journal::first() const {
  mutex_lock lock{mutex_};
  return files_.begin()->first;
}

std::uint64_t journal::next() const {
  mutex_lock lock{mutex_};
  return last_->next();
}

std::size_t journal::open_count() const {
  mutex_lock lock{mutex_};
  return recent_.size() + 1;
}

// -- adding

std::optional<std::size_t> journal::take(int from) {
  begin_file_if_full();
  return writing_->take(from, options_.sync);
}

void journal::end_line() {
  constexpr std::array newline{std::byte{'\n'}};
  if (!writing_->tail().empty())
    writing_->append(newline, options_.sync);
}

void journal::append(std::string_view content) {
  begin_file_if_full();
  const auto frame = make_frame(writing_->next(), content);
  writing_->append(std::as_bytes(std::span{frame}), options_.sync);
}

void journal::begin_file_if_full() {
  const auto next = writing_->next();
  if (writing_->size() >= options_.file_bytes && next > writing_->first())
    begin_file(next, writing_->tail());
}

/// The file gets its name once it holds the half line that it begins with.
void journal::begin_file(std::uint64_t first, const std::string& half_line) {
  write_durably(path_of(first), half_line);
  auto begun = open(first);
  mutex_lock lock{mutex_};
  if (last_)
    keep_open(last_->first());
  writing_ = last_ = files_[first] = std::move(begun);
}

// -- reading

std::span<const std::byte> journal::read(std::uint64_t number, sample& into) const {
  if (const auto from = find(number))
    return from->read(number, into);
  throw_no_record(*this, number, directory_.string());
}

/// The file that holds a record; null if none does.
journal::segment_ptr journal::find(std::uint64_t number) const {
  mutex_lock lock{mutex_};
  if (number < files_.begin()->first || number >= last_->next())
    return nullptr;
  const auto file = std::prev(files_.upper_bound(number));
  if (file->second == last_)
    return last_;
  if (!file->second) {
    auto opened = open(file->first);
    check_end(*opened);
    file->second = std::move(opened);
  }
  keep_open(file->first);
  return file->second;
}

journal::segment_ptr journal::open(std::uint64_t first) const {
  return std::make_shared<segment>(path_of(first).string(), options_.format, first);
}

/// Makes an earlier file the most recently used one, and closes another if too many are open.
/// Whoever reads from that one keeps it alive.
void journal::keep_open(std::uint64_t first) const {
  recent_.remove(first);
  recent_.push_back(first);
  if (recent_.size() > max_open) {
    files_.at(recent_.front()) = nullptr;
    recent_.pop_front();
  }
}

/// Files follow each other without a gap.
void journal::check_end(const segment& x) const {
  const auto needed = files_.upper_bound(x.first())->first;
  if (x.next() != needed)
    throw_file_error(errc::torn_file, "journal", x.path(),
                     "no records from " + std::to_string(x.next()) + " on",
                     "all records before " + std::to_string(needed));
}

void journal::release_below(std::uint64_t number) {
  mutex_lock lock{mutex_};
  while (files_.size() > 1 && std::next(files_.begin())->first <= number) {
    const auto first = files_.begin()->first;
    remove_file(path_of(first));
    recent_.remove(first);
    files_.erase(files_.begin());
  }
}

} // namespace leat
