#pragma once

#include "runtime/base/mutex.hpp"
#include "runtime/storage/object_store.hpp"

#include <leat/error.hpp>

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Throws `errc::not_found` (ENOENT, ENOTDIR), `errc::no_resources` (ENOMEM, EMFILE, ENFILE) or
/// `errc::io`, with the system's words for `errno`.
[[noreturn]] void throw_errno(std::string stage, std::string file, std::string needed);

/// Owns a file descriptor. Never 0 to 2, whatever the system gave: where a program has one of these
/// closed, what it prints would go into a file of ours, and what it reads would come from there.
class file_descriptor {
public:
  file_descriptor() = default;
  /// Takes over what a system call gave. Below 0: it failed; `errno` stays as it is.
  explicit file_descriptor(int fd) noexcept;
  /// Opens a plain file for reading, and gives its version where `version` is not null. Anything
  /// else is refused at once (`errc::invalid_argument`): a pipe would wait for who writes it, and a
  /// device may have no end. Throws as `throw_errno`.
  static file_descriptor open(const std::string& path, object_version* version = nullptr);
  /// Opens whatever is there, to read it once; a FIFO waits for who writes it. Throws as
  /// `throw_errno`.
  static file_descriptor open_pipe(const std::string& path);
  ~file_descriptor();
  file_descriptor(file_descriptor&& x) noexcept : fd_(std::exchange(x.fd_, -1)) {}
  file_descriptor& operator=(file_descriptor&& x) noexcept {
    std::swap(fd_, x.fd_);
    return *this;
  }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

private:
  int fd_ = -1;
};

/// How many descriptors this process may have now.
std::uint64_t descriptor_limit() noexcept;

object_version version_of(const struct ::stat& x);

/// The version of a plain file; throws `errc::invalid_argument` where the descriptor is of
/// something else.
object_version version_of(const file_descriptor& file, const std::string& path);

/// Same contract as ::pread; tests put a failing one in its place.
using pread_function = ssize_t (*)(int, void*, std::size_t, off_t);

/// Reads until `into` is full or the file ends; answers the number of bytes. An interrupted call
/// is repeated, and a transient error (EIO, EAGAIN) up to 3 times; then throws `errc::io`.
std::size_t read_at(const file_descriptor& file, const std::string& path, std::uint64_t offset,
                    std::span<std::byte> into, pread_function pread = nullptr);

/// Reads exactly as many bytes as asked for, and throws `errc::torn_file` if the file ends too
/// early.
void read_fully(const file_descriptor& file, const std::string& path, std::uint64_t offset,
                std::span<std::byte> into);

/// Reads from many files through few shared descriptors: opened on first use, the least recently
/// used one closed for the next. Any thread may read at any time; with more readers of different
/// files than descriptors, readers wait for each other.
class open_files final : public stored_objects {
public:
  /// `limit` is at least 1.
  explicit open_files(std::vector<std::string> paths, std::size_t limit = 256);

  std::string name(std::size_t file) const override { return paths_[file]; }
  object_version stat(std::size_t file) override;
  void read(std::span<const read_part> parts, read_done done,
            const std::stop_token& stop) override {
    done(read_here(parts, stop));
  }
  read_result read_here(std::span<const read_part> parts, const std::stop_token& stop) override;
  /// Descriptors open now.
  std::size_t open_count() const;

private:
  enum class state : std::uint8_t { closed, opening, open };
  struct slot {
    state now = state::closed;
    /// Threads that are reading; such a file is not closed.
    unsigned readers = 0;
    file_descriptor descriptor = {};
    /// Place in `recent_`, unless closed.
    std::list<std::size_t>::iterator place = {};
  };
  class lease;

  std::uint64_t read_parts(std::span<const read_part> parts);
  /// Null where the file is not open, or may be closed again.
  const file_descriptor* kept_descriptor(std::size_t file) const noexcept {
    return open_for_good_.empty() ? nullptr : open_for_good_[file].load(std::memory_order_acquire);
  }
  const file_descriptor& acquire(std::size_t file);
  void release(std::size_t file);
  bool make_room() LEAT_REQUIRES(mutex_);
  void open(std::size_t file) LEAT_REQUIRES(mutex_);

  const std::vector<std::string> paths_;
  const std::size_t limit_;
  /// The descriptor of each file once it is open, if all files fit within the limit together: these
  /// are never closed, so that reading them takes no lock. Empty if they do not fit.
  std::vector<std::atomic<const file_descriptor*>> open_for_good_;
  mutable mutex mutex_;
  /// Signalled when a file was opened, or is not read any more.
  condition_variable changed_;
  std::vector<slot> slots_ LEAT_GUARDED_BY(mutex_);
  /// Files that are open or being opened, least recently used first.
  std::list<std::size_t> recent_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
