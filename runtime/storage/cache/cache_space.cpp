#include "runtime/storage/cache/cache_space.hpp"

#include "runtime/base/framed_bytes.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/cache/block_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <string_view>

namespace leat {

namespace {

constexpr auto count_name = "count";
constexpr auto new_count_name = "count.new";
constexpr auto eviction_name = "eviction";
/// The count is a file's size: what all files took when they were last looked at, and a byte for
/// each 64 KiB that somebody has begun to write since. Appending a byte needs no lock, and nothing
/// is wrong with the file if its writer dies at any time.
constexpr std::size_t count_header = 16;
constexpr std::uint64_t mark_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t most_reserve = std::uint64_t{10} << 30;
constexpr std::size_t least_refusals = 64;
constexpr std::size_t number_of_folders = 256;

constexpr int lock_file_flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

struct directory_closing {
  void operator()(DIR* x) const noexcept { ::closedir(x); }
};

std::int64_t time_in_ns(const timespec& x) {
  return std::int64_t{x.tv_sec} * 1'000'000'000 + x.tv_nsec;
}

std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  return a + std::min(b, ~a);
}

/// What a file takes of the disk.
std::uint64_t disk_bytes(std::uint64_t size) {
  constexpr std::uint64_t page = 4096;
  return capped_sum(size, page - 1) / page * page;
}

std::string header_of_count(std::uint64_t total) {
  std::string x;
  append_little_endian(x, total);
  append_little_endian(x, xxh3_64(std::as_bytes(std::span{x})));
  return x;
}

bool is_plain_file(const struct ::stat& x) {
  return S_ISREG(x.st_mode);
}

} // namespace

cache_space::cache_space(const file_descriptor& directory, const cache_settings& how)
    : directory_(directory), limit_(how.limit), keys_(key_bits / 64) {
  struct ::statvfs disk {};
  if (::fstatvfs(directory_.get(), &disk) == 0)
    reserve_ = std::min(std::uint64_t{disk.f_blocks} * disk.f_frsize / 20, most_reserve);
  reserve_ = how.reserve.value_or(reserve_);
  // The file system's clock, which may be another machine's, if it takes a change at all.
  const auto touched =
      opened([&] { return ::openat(directory_.get(), eviction_name, lock_file_flags, 0600); });
  struct ::stat x {};
  timespec now{};
  if (touched && ::futimens(touched.get(), nullptr) == 0 && ::fstat(touched.get(), &x) == 0)
    begun_ = time_in_ns(x.st_mtim);
  else if (::clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0)
    begun_ = time_in_ns(now);
  const mutex_lock lock{mutex_};
  if (!open_count())
    make_room(0);
  refusals_ = 0;
}

void cache_space::set_limit(std::uint64_t bytes) noexcept {
  if (limit_.exchange(bytes) < bytes)
    refusals_ = 0; // there may be room again
}

void cache_space::uses(const hash128& key) noexcept {
  const auto bit = key.low % key_bits;
  auto& word = keys_[bit / 64];
  const auto mask = std::uint64_t{1} << bit % 64;
  if ((word.load(std::memory_order_relaxed) & mask) == 0)
    word.fetch_or(mask, std::memory_order_relaxed);
}

bool cache_space::is_used(const hash128& key) const noexcept {
  const auto bit = key.low % key_bits;
  return (keys_[bit / 64].load(std::memory_order_relaxed) >> bit % 64 & 1) != 0;
}

bool cache_space::may_have_room() noexcept {
  auto left = refusals_.load(std::memory_order_relaxed);
  while (left > 0)
    if (refusals_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed))
      return false;
  return true;
}

bool cache_space::take(std::uint64_t bytes) {
  const auto needed = disk_bytes(bytes + block_header_bytes);
  const mutex_lock lock{mutex_};
  if (count(needed) && free_bytes() >= capped_sum(reserve_, needed))
    return true;
  return make_room(needed); // which has counted it, by the file that claims it
}

/// Opens the count that is valid now; false if there is none.
bool cache_space::open_count() {
  count_ = {};
  auto file = opened([&] {
    return ::openat(directory_.get(), count_name,
                    O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  });
  struct ::stat x {};
  std::string header(count_header, '\0');
  if (!file || ::fstat(file.get(), &x) != 0 || !is_plain_file(x)
      || uninterrupted([&] { return ::pread(file.get(), header.data(), header.size(), 0); })
             != static_cast<ssize_t>(header.size()))
    return false;
  counted_ = little_endian_at<std::uint64_t>(header, 0);
  if (header != header_of_count(counted_))
    return false;
  count_ = std::move(file);
  return true;
}

/// Adds to the count; false if that goes beyond the limit, or nobody has counted yet.
bool cache_space::count(std::uint64_t bytes) {
  const std::string marks((bytes + mark_bytes - 1) / mark_bytes, '+');
  for (int tries = 0; tries < 3; ++tries) {
    if (!count_ && !open_count())
      return false;
    struct ::stat x {};
    const int file = count_.get();
    if (uninterrupted([&] { return ::write(file, marks.data(), marks.size()); })
            != static_cast<ssize_t>(marks.size())
        || ::fstat(count_.get(), &x) != 0)
      return false;
    if (x.st_nlink > 0) {
      const auto size = static_cast<std::uint64_t>(x.st_size);
      return size >= count_header
             && capped_sum(counted_, (size - count_header) * mark_bytes) <= limit_;
    }
    count_ = {}; // another process has made a new one
  }
  return false;
}

bool cache_space::write_count(std::uint64_t total) const {
  (void)::unlinkat(directory_.get(), new_count_name, 0); // of a process that was killed
  const auto file = opened([&] {
    return ::openat(directory_.get(), new_count_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    0600);
  });
  const auto header = header_of_count(total);
  return file
         && uninterrupted([&] { return ::write(file.get(), header.data(), header.size()); })
                == static_cast<ssize_t>(header.size())
         && ::renameat(directory_.get(), new_count_name, directory_.get(), count_name) == 0;
}

std::uint64_t cache_space::free_bytes() const {
  struct ::statvfs x {};
  if (::fstatvfs(directory_.get(), &x) != 0)
    return 0;
  return std::uint64_t{x.f_bavail} * x.f_frsize;
}

/// Looks at all files, and removes old ones until the limit is kept and the disk has `bytes` more
/// than the reserve free; and a sixteenth of all, so that it is not done for each block. False if
/// that is not enough, or another process is doing this.
bool cache_space::make_room(std::uint64_t bytes) {
  const auto guard =
      opened([&] { return ::openat(directory_.get(), eviction_name, lock_file_flags, 0600); });
  if (!guard || uninterrupted([&] { return ::flock(guard.get(), LOCK_EX | LOCK_NB); }) != 0)
    return false;
  const std::uint64_t limit = limit_;
  std::vector<old_block> old;
  std::size_t files = 0;
  auto total = look(old, files);
  const auto free = free_bytes();
  const auto too_many = [](std::uint64_t x, std::uint64_t most) { return x > most ? x - most : 0; };
  const auto needed = std::max(too_many(total, limit), too_many(capped_sum(reserve_, bytes), free));
  const auto wanted = needed == 0 ? 0 : capped_sum(needed, std::min(limit, total) / 16);
  std::sort(old.begin(), old.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
  std::uint64_t removed = 0;
  for (const auto& x : old) {
    if (removed >= wanted)
      break;
    const auto path = folder_of(x.id) + "/" + name_of({.id = x.id});
    if (::unlinkat(directory_.get(), path.c_str(), 0) == 0)
      removed += x.bytes;
  }
  total -= std::min(total, removed);
  const bool is_written = write_count(total);
  count_ = {};
  (void)::flock(guard.get(), LOCK_UN); // a forked child may have a copy of the descriptor
  const bool fits = is_written && removed >= needed;
  refusals_ = fits ? 0 : std::max(files, least_refusals);
  return fits;
}

/// The bytes of all files, and those that may be removed.
std::uint64_t cache_space::look(std::vector<old_block>& old, std::size_t& files) const {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < number_of_folders; ++i) {
    constexpr std::string_view digits = "0123456789abcdef";
    const char name[] = {digits[i / 16], digits[i % 16], '\0'};
    auto folder = opened([&] {
      return ::openat(directory_.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    });
    const std::unique_ptr<DIR, directory_closing> entries{folder ? ::fdopendir(folder.get())
                                                                 : nullptr};
    if (!entries)
      continue;
    const auto at = folder.release();                      // it belongs to `entries`
    while (const auto* entry = ::readdir(entries.get())) { // NOLINT(concurrency-mt-unsafe)
      const auto known = parse_block_name(entry->d_name);
      struct ::stat x {};
      if (!known || folder_of(known->id) != name
          || ::fstatat(at, entry->d_name, &x, AT_SYMLINK_NOFOLLOW) != 0 || !is_plain_file(x))
        continue;
      const auto path = std::string{name} + "/" + entry->d_name;
      const auto bytes =
          known->is_part ? part_bytes(path) : disk_bytes(static_cast<std::uint64_t>(x.st_size));
      total = capped_sum(total, bytes);
      ++files;
      const auto used = time_in_ns(x.st_mtim);
      if (used < begun_ && !known->is_part && !is_used(known->id.key))
        old.push_back({.used = used, .bytes = bytes, .id = known->id});
    }
  }
  return total;
}

/// What a block that is being written will take. Removes the file if its writer is dead.
std::uint64_t cache_space::part_bytes(const std::string& path) const {
  const auto part = opened([&] {
    return ::openat(directory_.get(), path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  });
  struct ::stat open {};
  struct ::stat named {};
  if (!part || uninterrupted([&] { return ::flock(part.get(), LOCK_EX | LOCK_NB); }) != 0)
    return disk_bytes(cache_block_bytes + block_header_bytes);
  // It may have become the block meanwhile, and another process may have begun anew.
  const bool is_named =
      ::fstat(part.get(), &open) == 0
      && ::fstatat(directory_.get(), path.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0
      && open.st_ino == named.st_ino && open.st_dev == named.st_dev;
  if (is_named)
    (void)::unlinkat(directory_.get(), path.c_str(), 0);
  (void)::flock(part.get(), LOCK_UN);
  return is_named ? 0 : disk_bytes(cache_block_bytes + block_header_bytes);
}

} // namespace leat
