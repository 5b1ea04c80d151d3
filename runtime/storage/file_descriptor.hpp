#pragma once

#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/object_store.hpp"

#include <leat/error.hpp>

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace leat {

/// The error for a value of `errno`: `errc::no_resources` (ENOMEM, EMFILE, ENFILE) or `errc::io`,
/// with the system's words added to `got`. If there are no more descriptors, it names the limit and
/// how to raise it.
error io_error(int code, error_details where);

/// Throws `errc::not_found` (ENOENT, ENOTDIR), `errc::no_resources` (ENOMEM, EMFILE, ENFILE) or
/// `errc::io`, with the system's words for `errno`.
[[noreturn]] void throw_errno(std::string stage, std::string file, std::string needed);

/// Owns a file descriptor. It is never 0 to 2, whatever the system returned: if a program has
/// closed one of these, what it prints would go into a file of ours, and what it reads would come
/// from it.
class file_descriptor {
public:
  file_descriptor() = default;
  /// Takes over the result of a system call. Below 0 the call failed; `errno` stays as it is.
  explicit file_descriptor(int fd) noexcept;
  /// Opens a plain file for reading, and stores its version if `version` is not null. Anything else
  /// is refused at once (`errc::invalid_argument`): a pipe would wait for its writer, and a device
  /// may have no end. Throws as `throw_errno`.
  static file_descriptor open(const std::string& path, object_version* version = nullptr);
  /// Opens whatever is there, to read it once; a FIFO waits for its writer. Throws as
  /// `throw_errno`.
  static file_descriptor open_pipe(const std::string& path);
  ~file_descriptor();
  file_descriptor(file_descriptor&& x) noexcept : fd_(std::exchange(x.fd_, -1)) {}
  file_descriptor& operator=(file_descriptor&& x) noexcept {
    std::swap(fd_, x.fd_);
    return *this;
  }

  int get() const noexcept { return fd_; }
  /// Gives it to somebody who closes it.
  int release() noexcept { return std::exchange(fd_, -1); }
  explicit operator bool() const noexcept { return fd_ >= 0; }

private:
  int fd_ = -1;
};

/// Clears O_NONBLOCK, which is meant for opening only: some file systems in user space heed it in
/// reads as well. Keeps `errno`.
void wait_in_reads(const file_descriptor& file) noexcept;

/// How many descriptors this process may have now.
std::uint64_t descriptor_limit() noexcept;

/// If `errno` says that the last call found no more descriptors: closes files that are only kept
/// open for later reads. Returns false if `errno` says something else or there are no such files.
/// Does not change `errno`.
bool close_files_for_room() noexcept;

/// The result of a system call that opens something. An interrupted call is repeated; one that
/// found no more descriptors is repeated once if room can be made. `errno` is that of the last
/// call.
template <class Call>
file_descriptor opened(Call call) {
  const int fd = uninterrupted(call);
  return file_descriptor{fd < 0 && close_files_for_room() ? uninterrupted(call) : fd};
}

object_version version_of(const struct ::stat& x);

/// The version of a plain file; throws `errc::invalid_argument` if the descriptor is of anything
/// else.
object_version version_of(const file_descriptor& file, const std::string& path);

/// Same contract as ::pread; tests pass one that fails.
using pread_function = ssize_t (*)(int, void*, std::size_t, off_t);

/// Reads until `into` is full or the file ends; returns the number of bytes. Repeats interrupted
/// calls, and after a transient error (EIO, EAGAIN) up to 3 times; then throws `errc::io`.
std::size_t read_at(const file_descriptor& file, const std::string& path, std::uint64_t offset,
                    std::span<std::byte> into, pread_function pread = nullptr);

/// Reads exactly as many bytes as asked for, and throws `errc::torn_file` if the file ends too
/// early.
void read_fully(const file_descriptor& file, const std::string& path, std::uint64_t offset,
                std::span<std::byte> into);

} // namespace leat
