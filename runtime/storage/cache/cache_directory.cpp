#include "runtime/storage/cache/cache_directory.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/system_words.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/cache/block_file.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/guarded_copy.hpp"

#include <leat/notice.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

namespace leat {

namespace {

/// Of this version of the format. Another one would use another folder.
constexpr auto own_folder = "leat-cache-1";
/// On a disk.
constexpr std::uint64_t room_of_header = 4096;

std::string path_of(const block_id& id, bool is_part) {
  return folder_of(id) + "/" + name_of({.id = id, .is_part = is_part});
}

std::string own_path(const cache_settings& how) {
  (void)checked_cache_limit(how.limit);
  return how.directory + "/" + own_folder;
}

file_descriptor open_folder(const std::string& path) {
  make_directory_durably(path, 0700); // others may not read what this user may
  auto folder =
      opened([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
  if (!folder)
    throw_errno("cache", path, "a directory");
  return folder;
}

/// Reads until `into` is full; false if the file ends before, or cannot be read.
bool read_all_at(const file_descriptor& file, std::size_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const auto n = uninterrupted(
        [&] { return ::pread(file.get(), into.data(), into.size(), static_cast<off_t>(offset)); });
    if (n <= 0)
      return false;
    into = into.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::size_t>(n);
  }
  return true;
}

/// Returns false with `errno`.
bool write_all_at(const file_descriptor& file, std::size_t offset,
                  std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = uninterrupted([&] {
      return ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
    if (n <= 0) {
      errno = n == 0 ? ENOSPC : errno;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::size_t>(n);
  }
  return true;
}

/// Whoever needs room sees that it was used.
void mark_use(const file_descriptor& file, const struct ::stat& x, std::int64_t begun) {
  timespec now{};
  const auto used = std::int64_t{x.st_mtim.tv_sec} * 1'000'000'000 + x.st_mtim.tv_nsec;
  if (used >= begun && ::clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0
      && now.tv_sec - x.st_mtim.tv_sec < cache_directory::seconds_between_uses)
    return;
  const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                            {.tv_sec = 0, .tv_nsec = UTIME_NOW}};
  (void)::futimens(file.get(), times); // of a cache that can only be read
}

std::size_t begin_of_chunk(std::size_t at) {
  return at / block_chunk_bytes * block_chunk_bytes;
}

file_descriptor opened_to_read(const file_descriptor& directory, const block_id& id) {
  return opened([&] {
    return ::openat(directory.get(), path_of(id, false).c_str(),
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  });
}

/// The directory as a whole takes no more files; otherwise one name is the trouble.
bool is_of_directory(int code, const file_descriptor& directory) {
  constexpr std::array codes{ENOSPC, EDQUOT, EROFS, EIO, EACCES, EPERM, EFBIG, ESTALE, ENODEV};
  struct ::stat x {};
  const bool is_removed = code == ENOENT && ::fstat(directory.get(), &x) == 0 && x.st_nlink == 0;
  return is_removed || std::find(codes.begin(), codes.end(), code) != codes.end();
}

} // namespace

void block_claim::give_up() noexcept {
  if (is_ != state::mine)
    return;
  is_ = state::impossible;
  (void)::unlinkat(directory_, path_.c_str(), 0);
  // Not by closing it alone: a forked child may have a copy of the descriptor, and those who watch
  // the file look at its lock when it is closed.
  (void)::flock(file_.get(), LOCK_UN);
}

std::uint64_t checked_cache_limit(std::uint64_t bytes) {
  if (bytes < cache_block_bytes + room_of_header)
    throw_error(errc::invalid_argument, "cache", std::to_string(bytes) + " bytes at most",
                "at least " + std::to_string(cache_block_bytes + room_of_header)
                    + ", what a block takes");
  return bytes;
}

cache_directory::cache_directory(const cache_settings& how)
    : path_(own_path(how)), directory_(open_folder(path_)), space_(directory_, how) {}

void cache_directory::fail(int code) {
  if (is_of_directory(code, directory_) && takes_more_.exchange(false))
    notice("cache: " + path_ + ": " + system_words(code)
           + "; what is in it is used, and nothing is added");
}

/// A file whose header is one of the block.
struct cache_directory::open_block {
  file_descriptor file = {};
  struct ::stat is = {};
  block_checks checks = {};

  /// Fills `into` with whole chunks from `from` on, the last one of the block being shorter. False
  /// if they are not what they have to be.
  bool read(std::size_t from, std::span<std::byte> into) const {
    if (!read_all_at(file, block_header_bytes + from, into))
      return false;
    for (std::size_t at = 0; at < into.size(); at += block_chunk_bytes)
      if (!checks.fit((from + at) / block_chunk_bytes,
                      into.subspan(at, std::min(block_chunk_bytes, into.size() - at))))
        return false;
    return true;
  }
};

cache_directory::found cache_directory::open(const block_id& id, std::size_t size,
                                             open_block& x) const {
  x.file = opened_to_read(directory_, id);
  if (!x.file || ::fstat(x.file.get(), &x.is) != 0 || !S_ISREG(x.is.st_mode))
    return found::nothing;
  std::array<std::byte, block_header_bytes> header;
  if (static_cast<std::uint64_t>(x.is.st_size) != block_header_bytes + size
      || !read_all_at(x.file, 0, header))
    return found::damaged;
  const auto checks = block_checks::read(header, id, size);
  if (!checks)
    return found::damaged;
  x.checks = *checks;
  return found::bytes;
}

cache_directory::found
cache_directory::read(const block_id& id, std::size_t size, std::size_t begin, std::size_t end,
                      std::vector<std::byte>& scratch,
                      const std::function<void(std::span<const std::byte>)>& take) {
  open_block x;
  if (const auto is = open(id, size, x); is != found::bytes)
    return is;
  const auto from = begin_of_chunk(begin);
  const auto to = std::min(size, begin_of_chunk(end + block_chunk_bytes - 1));
  if (scratch.size() < to - from)
    scratch.resize(cache_block_bytes);
  const auto bytes = std::span{scratch}.first(to - from);
  if (!x.read(from, bytes))
    return found::damaged;
  mark_use(x.file, x.is, space_.begun());
  take(bytes.subspan(begin - from, end - begin));
  return found::bytes;
}

cache_directory::found cache_directory::read_into(const block_id& id, std::size_t size,
                                                  std::size_t begin, std::span<std::byte> into) {
  open_block x;
  if (const auto is = open(id, size, x); is != found::bytes)
    return is;
  const auto end = begin + into.size();
  const auto end_of_whole = end == size ? end : begin_of_chunk(end);
  std::array<std::byte, block_chunk_bytes> partly_wanted;
  for (auto at = begin; at < end;) {
    const auto rest = into.subspan(at - begin);
    const auto chunk = begin_of_chunk(at);
    if (at == chunk && at < end_of_whole) {
      if (!x.read(at, rest.first(end_of_whole - at)))
        return found::damaged;
      at = end_of_whole;
      continue;
    }
    const auto bytes = std::span{partly_wanted}.first(std::min(block_chunk_bytes, size - chunk));
    if (!x.read(chunk, bytes))
      return found::damaged;
    const auto in_chunk = at - chunk;
    const auto wanted = bytes.subspan(in_chunk, std::min(bytes.size() - in_chunk, rest.size()));
    std::copy(wanted.begin(), wanted.end(), rest.begin());
    at += wanted.size();
  }
  mark_use(x.file, x.is, space_.begun());
  return found::bytes;
}

std::unique_ptr<mapped_block> cache_directory::map(const block_id& id, std::size_t size) const {
  if (!copies_are_guarded())
    return {}; // before a file is opened in vain, at every read
  open_block x;
  return open(id, size, x) == found::bytes
             ? mapped_block::of(x.file, file_state::of(x.is), x.checks, size)
             : nullptr;
}

bool cache_directory::is_same(const block_id& id, const mapped_block& x) const {
  struct ::stat is {};
  return ::fstatat(directory_.get(), path_of(id, false).c_str(), &is, AT_SYMLINK_NOFOLLOW) == 0
         && file_state::of(is) == x.state();
}

bool cache_directory::expect(const block_id& id, std::size_t size, std::size_t begin,
                             std::size_t end) const {
  const auto file = opened_to_read(directory_, id);
  struct ::stat x {};
  if (!file || ::fstat(file.get(), &x) != 0 || !S_ISREG(x.st_mode)
      || static_cast<std::uint64_t>(x.st_size) != block_header_bytes + size)
    return false;
  (void)::posix_fadvise(file.get(), static_cast<off_t>(block_header_bytes + begin),
                        static_cast<off_t>(end - begin), POSIX_FADV_WILLNEED);
  return true;
}

block_claim cache_directory::claim(const block_id& id) {
  block_claim x;
  x.directory_ = directory_.get();
  x.path_ = path_of(id, true);
  // Whoever had it may have made it the block, or removed it, before it was locked here.
  for (int tries = 0; tries < 10 && takes_more(); ++tries) {
    x.file_ = opened([&] {
      return ::openat(directory_.get(), x.path_.c_str(),
                      O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    });
    if (!x.file_ && errno == ENOENT
        && (::mkdirat(directory_.get(), folder_of(id).c_str(), 0700) == 0 || errno == EEXIST))
      continue;
    if (!x.file_) {
      fail(errno);
      return x;
    }
    struct ::stat found {};
    if (::fstat(x.file_.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink > 1)
      return x; // a link to a file that is not ours, too
    if (uninterrupted([&] { return ::flock(x.file_.get(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno == EWOULDBLOCK)
        x.is_ = block_claim::state::taken;
      return x;
    }
    if (is_named(x)) {
      x.is_ = block_claim::state::mine;
      return x;
    }
    (void)::flock(x.file_.get(), LOCK_UN);
  }
  return x;
}

/// Whether the file that is open is the one of that name.
bool cache_directory::is_named(const block_claim& x) const {
  struct ::stat open {};
  struct ::stat named {};
  return ::fstat(x.file_.get(), &open) == 0
         && ::fstatat(directory_.get(), x.path_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0
         && named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

bool cache_directory::claim_again(block_claim& x, const block_id& id) {
  if (uninterrupted([&] { return ::flock(x.file_.get(), LOCK_EX | LOCK_NB); }) != 0)
    return false;
  x.is_ = block_claim::state::mine;
  if (is_named(x))
    return false;
  x.is_ = block_claim::state::impossible; // it is the block now, or gone
  (void)::flock(x.file_.get(), LOCK_UN);
  x = claim(id);
  return true;
}

bool cache_directory::store(block_claim& by, const block_id& id, std::span<const std::byte> block) {
  const auto header = block_header(id, block);
  // It may have what a process wrote that was killed.
  if (::ftruncate(by.file_.get(), 0) != 0
      || !write_all_at(by.file_, 0, std::as_bytes(std::span{header}))
      || !write_all_at(by.file_, header.size(), block)
      || ::renameat(directory_.get(), by.path_.c_str(), directory_.get(),
                    path_of(id, false).c_str())
             != 0) {
    fail(errno);
    return false;
  }
  by.is_ = block_claim::state::impossible;
  (void)::flock(by.file_.get(), LOCK_UN);
  return true;
}

} // namespace leat
