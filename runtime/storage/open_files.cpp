#include "runtime/storage/open_files.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/system_words.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <string_view>

namespace leat {

namespace {

constexpr int max_retries = 3;

bool is_transient(int code) {
  return code == EIO || code == EAGAIN;
}

std::string_view name_of(mode_t mode) {
  return S_ISDIR(mode)                    ? "a directory"
         : S_ISFIFO(mode)                 ? "a pipe (FIFO)"
         : S_ISSOCK(mode)                 ? "a socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                          : "something other than a file";
}

void check_plain(const struct stat& x, const std::string& path) {
  if (!S_ISREG(x.st_mode))
    throw error(errc::invalid_argument, {.stage = "open",
                                         .file = path,
                                         .got = std::string{name_of(x.st_mode)},
                                         .needed = "a plain file"});
}

struct stat stat_of_plain(const file_descriptor& file, const std::string& path) {
  struct stat x {};
  if (::fstat(file.get(), &x) != 0)
    throw_errno("open", path, "a file whose size and time can be read");
  check_plain(x, path);
  return x;
}

/// Opens a plain file, and waits neither for a pipe's writer nor for a device. Without a descriptor
/// if it failed; `errno` says why.
file_descriptor open_at_once(const std::string& path) {
  const auto open = [&](int flags) {
    return file_descriptor{uninterrupted(
        [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags); })};
  };
  auto file = open(O_NONBLOCK);
  if (file)
    return file;
  const int problem = errno;
  struct stat x {};
  if (::stat(path.c_str(), &x) == 0) {
    check_plain(x, path);
    if (problem == EWOULDBLOCK) // a file server holds a lease, which it is asked to give back
      return open(0);
  }
  errno = problem;
  return file;
}

} // namespace

object_version version_of(const struct stat& x) {
  return {.size = static_cast<std::uint64_t>(x.st_size),
          .mtime_ns = std::int64_t{x.st_mtim.tv_sec} * 1'000'000'000 + x.st_mtim.tv_nsec,
          .tag = std::to_string(x.st_ino)};
}

void throw_errno(std::string stage, std::string file, std::string needed) {
  const int code = errno;
  const bool absent = code == ENOENT || code == ENOTDIR;
  const bool lacks = code == ENOMEM || code == EMFILE || code == ENFILE;
  throw error(absent  ? errc::not_found
              : lacks ? errc::no_resources
                      : errc::io,
              {.stage = std::move(stage),
               .file = std::move(file),
               .got = system_words(code),
               .needed = std::move(needed)});
}

file_descriptor::file_descriptor(int fd) noexcept : fd_(fd) {
  if (fd < STDIN_FILENO || fd > STDERR_FILENO)
    return;
  fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int problem = errno;
  ::close(fd);
  errno = problem;
}

file_descriptor file_descriptor::open(const std::string& path, object_version* version) {
  auto file = open_at_once(path);
  if (!file)
    throw_errno("open", path, "a readable file");
  const auto found = stat_of_plain(file, path);
  ::fcntl(file.get(), F_SETFL, 0); // not to wait was for opening: reads of some file systems ask it
  if (version)
    *version = version_of(found);
  return file;
}

file_descriptor file_descriptor::open_pipe(const std::string& path) {
  file_descriptor file{
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); })};
  if (!file)
    throw_errno("open", path, "a readable file");
  return file;
}

std::uint64_t descriptor_limit() noexcept {
  rlimit x{};
  return ::getrlimit(RLIMIT_NOFILE, &x) == 0 ? x.rlim_cur : 0;
}

file_descriptor::~file_descriptor() {
  if (fd_ >= 0)
    ::close(fd_);
}

object_version version_of(const file_descriptor& file, const std::string& path) {
  return version_of(stat_of_plain(file, path));
}

std::size_t read_at(const file_descriptor& file, const std::string& path, std::uint64_t offset,
                    std::span<std::byte> into, pread_function pread) {
  if (!pread)
    pread = ::pread;
  std::size_t done = 0;
  int retries = 0;
  while (done < into.size()) {
    auto n = pread(file.get(), into.data() + done, into.size() - done,
                   static_cast<off_t>(offset + done));
    if (n == 0)
      break;
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else if (errno != EINTR && (!is_transient(errno) || ++retries > max_retries))
      throw_errno("read", path, std::to_string(into.size()) + " bytes");
  }
  return done;
}

void read_fully(const file_descriptor& file, const std::string& path, std::uint64_t offset,
                std::span<std::byte> into) {
  auto got = read_at(file, path, offset, into);
  if (got < into.size())
    throw error(errc::torn_file,
                {.stage = "read",
                 .file = path,
                 .offset = offset,
                 .got = "the end of the file after " + counted(got, "byte") + " of it",
                 .needed = counted(into.size(), "byte") + ": the file was cut short"});
}

open_files::open_files(std::vector<std::string> paths, std::size_t limit)
    : paths_(std::move(paths)), limit_(std::max<std::size_t>(limit, 1)),
      open_for_good_(paths_.size() <= limit_ ? paths_.size() : 0), slots_(paths_.size()) {}

/// The right to read from one file, which stays open as long.
class open_files::lease {
public:
  lease(open_files& from, std::size_t file)
      : from_(from), file_(file), kept_(from.kept_descriptor(file)),
        descriptor_(kept_ ? *kept_ : from.acquire(file)) {}
  ~lease() {
    if (!kept_)
      from_.release(file_);
  }
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;

  const file_descriptor& descriptor() const noexcept { return descriptor_; }

private:
  open_files& from_;
  std::size_t file_;
  /// Null where the file may be closed once nobody reads it.
  const file_descriptor* kept_;
  const file_descriptor& descriptor_;
};

object_version open_files::stat(std::size_t file) {
  const lease right{*this, file};
  return version_of(right.descriptor(), paths_[file]);
}

read_result open_files::read_here(std::span<const read_part> parts, const std::stop_token&) {
  read_result x;
  try {
    x.bytes = read_parts(parts);
  } catch (const error& problem) {
    x.failure = std::make_shared<const error>(problem);
  }
  return x;
}

std::uint64_t open_files::read_parts(std::span<const read_part> parts) {
  std::uint64_t done = 0;
  for (const auto& x : parts) {
    const lease right{*this, x.object};
    const auto n = read_at(right.descriptor(), paths_[x.object], x.offset, x.into);
    done += n;
    if (n < x.into.size())
      break;
  }
  return done;
}

std::size_t open_files::open_count() const {
  mutex_lock lock{mutex_};
  return recent_.size();
}

const file_descriptor& open_files::acquire(std::size_t file) {
  mutex_lock lock{mutex_};
  auto& x = slots_[file];
  while (x.now != state::open && !(x.now == state::closed && make_room()))
    changed_.wait(mutex_);
  if (x.now == state::closed)
    open(file);
  recent_.splice(recent_.end(), recent_, x.place);
  ++x.readers;
  return x.descriptor;
}

void open_files::release(std::size_t file) {
  mutex_lock lock{mutex_};
  if (--slots_[file].readers == 0)
    changed_.notify_all();
}

/// Closes the least recently used idle file where the limit is reached; false while all are read.
bool open_files::make_room() {
  if (recent_.size() < limit_)
    return true;
  auto idle =
      std::find_if(recent_.begin(), recent_.end(), [this](std::size_t i) LEAT_REQUIRES(mutex_) {
        return slots_[i].now == state::open && slots_[i].readers == 0;
      });
  if (idle == recent_.end())
    return false;
  slots_[*idle].descriptor = {};
  slots_[*idle].now = state::closed;
  recent_.erase(idle);
  return true;
}

/// Opens without the lock: on a network this takes a while, and others can read meanwhile.
void open_files::open(std::size_t file) {
  auto& x = slots_[file];
  x.now = state::opening;
  x.place = recent_.insert(recent_.end(), file);
  mutex_.unlock();
  file_descriptor descriptor;
  std::exception_ptr failure;
  try {
    descriptor = file_descriptor::open(paths_[file]);
  } catch (...) {
    failure = std::current_exception();
  }
  mutex_.lock();
  changed_.notify_all();
  if (failure) {
    x.now = state::closed;
    recent_.erase(x.place);
    std::rethrow_exception(failure);
  }
  x.descriptor = std::move(descriptor);
  x.now = state::open;
  if (!open_for_good_.empty())
    open_for_good_[file].store(&x.descriptor, std::memory_order_release);
}

} // namespace leat
