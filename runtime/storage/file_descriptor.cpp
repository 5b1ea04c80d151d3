#include "runtime/storage/file_descriptor.hpp"

#include "runtime/base/descriptor_keeper.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/system_words.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/descriptor_budget.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace leat {

namespace {

constexpr int max_retries = 3;

bool is_transient(int code) {
  return code == EIO || code == EAGAIN;
}

bool is_lack_of_descriptors(int code) {
  return code == EMFILE || code == ENFILE;
}

rlimit limit_of_descriptors() noexcept {
  rlimit x{};
  return ::getrlimit(RLIMIT_NOFILE, &x) == 0 ? x : rlimit{};
}

void add_needed(error_details& to, const std::string& more) {
  to.needed += (to.needed.empty() ? "" : ", and ") + more;
}

void add_process_limit(error_details& to) {
  const auto x = limit_of_descriptors();
  to.got += ": this process may have " + std::to_string(x.rlim_cur) + " (ulimit -n)";
  add_needed(to, x.rlim_cur < x.rlim_max
                     ? "a higher limit (ulimit -Sn " + std::to_string(x.rlim_max) + ")"
                     : "a higher limit: the hard one, too, is " + std::to_string(x.rlim_max));
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
    throw_file_error(errc::invalid_argument, "open", path, std::string{name_of(x.st_mode)},
                     "a plain file");
}

struct stat stat_of_plain(const file_descriptor& file, const std::string& path) {
  struct stat x {};
  if (::fstat(file.get(), &x) != 0)
    throw_errno("open", path, "a file whose size and time can be read");
  check_plain(x, path);
  return x;
}

/// Opens a plain file, without waiting for a pipe's writer or for a device. Returns no descriptor
/// if that failed; `errno` has the reason.
file_descriptor open_at_once(const std::string& path) {
  const auto open = [&](int flags) {
    return opened([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags); });
  };
  auto file = open(O_NONBLOCK);
  if (file)
    return file;
  const int problem = errno;
  struct stat x {};
  if (::stat(path.c_str(), &x) == 0) {
    check_plain(x, path);
    if (problem == EWOULDBLOCK) // a file server holds a lease: open(2) waits until it is given back
      return open(0);
  }
  errno = problem;
  return file;
}

} // namespace

error io_error(int code, error_details where) {
  where.got += (where.got.empty() ? "" : ": ") + system_words(code);
  if (code == EMFILE)
    add_process_limit(where);
  if (code == ENFILE)
    add_needed(where, "a machine whose programs have fewer files open, or more of them "
                      "(fs.file-max)");
  const bool is_lack = code == ENOMEM || is_lack_of_descriptors(code);
  return error(is_lack ? errc::no_resources : errc::io, std::move(where));
}

void throw_errno(std::string stage, std::string file, std::string needed) {
  const int code = errno;
  auto problem = io_error(
      code, {.stage = std::move(stage), .file = std::move(file), .needed = std::move(needed)});
  if (code == ENOENT || code == ENOTDIR)
    throw error(errc::not_found, problem.details());
  throw problem;
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
  if (version)
    *version = version_of(found);
  return file;
}

void wait_in_reads(const file_descriptor& file) noexcept {
  const int problem = errno;
  if (const int flags = ::fcntl(file.get(), F_GETFL); flags >= 0)
    ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK);
  errno = problem;
}

file_descriptor file_descriptor::open_pipe(const std::string& path) {
  auto file = opened([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); });
  if (!file)
    throw_errno("open", path, "a readable file");
  return file;
}

file_descriptor::~file_descriptor() {
  if (fd_ >= 0)
    ::close(fd_);
}

std::uint64_t descriptor_limit() noexcept {
  return limit_of_descriptors().rlim_cur;
}

bool close_files_for_room() noexcept {
  const int problem = errno;
  const bool has_room = is_lack_of_descriptors(problem)
                        && (give_kept_descriptor() || process_descriptors().close_half());
  errno = problem;
  return has_room;
}

object_version version_of(const struct stat& x) {
  return {.size = static_cast<std::uint64_t>(x.st_size),
          .mtime_ns = std::int64_t{x.st_mtim.tv_sec} * 1'000'000'000 + x.st_mtim.tv_nsec,
          .tag = std::to_string(x.st_ino)};
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
    else if (errno == EAGAIN)
      wait_in_reads(file);
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

} // namespace leat
