#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

namespace leat {

/// A file that is read now and then, and stays open as long as its budget has a place for it.
class kept_file {
public:
  kept_file() = default;

private:
  friend class descriptor_budget;

  /// Changed only with the budget's lock held, and while the file is not open to readers.
  file_descriptor descriptor_ = {};
  std::atomic<bool> is_open_ = false;
  /// Whether it was read since it was opened, or since it was last spared for having been read.
  std::atomic<bool> was_read_ = false;
  std::list<kept_file*>::iterator place_ = {};
};

/// Bounds how many descriptors stay open. Files that are only kept for later reads share its
/// places: the least recently used one is closed to make room for the next. Reading an open file
/// takes no lock, and nobody waits: while all are being read at once, there are more than the
/// places. Any thread.
class descriptor_budget : not_copied {
public:
  /// How many descriptors the process may have; called at each opening, as it may change.
  using limit_function = std::uint64_t (*)() noexcept;

  explicit descriptor_budget(limit_function limit = descriptor_limit) noexcept;

  /// Half of what the process may have: the rest is left to the program. Between 4 and 32,768.
  std::size_t places() const noexcept;

  /// Accounts for a descriptor that stays open as long as this lives: a pipe, or one that is being
  /// opened. It takes a place from the kept files, which have at least a quarter of all places.
  class place {
  public:
    place() = default;
    explicit place(descriptor_budget& in);
    ~place();
    place(place&& x) noexcept : in_(std::exchange(x.in_, nullptr)) {}
    place& operator=(place&& x) noexcept {
      std::swap(in_, x.in_);
      return *this;
    }

  private:
    descriptor_budget* in_ = nullptr;
  };

  /// While this lives, a file that is open, or is opened through it, stays open. The first one that
  /// a thread holds is the fast case.
  class reading : not_copied {
  public:
    reading(descriptor_budget& in, kept_file& file) noexcept;
    ~reading();

    bool is_open() const noexcept { return is_open_; }
    /// Keeps a descriptor that was just opened; closes it if another thread was faster.
    void keep(file_descriptor descriptor);
    /// The descriptor of a file that is open.
    const file_descriptor& descriptor() const noexcept { return file_.descriptor_; }

  private:
    descriptor_budget& in_;
    kept_file& file_;
    std::atomic<const kept_file*>* mark_;
    bool is_open_;
  };

  /// Closes a file that nobody reads. In the child of a fork it stays open: a thread that exists
  /// only in the parent may hold the lock.
  void close(kept_file& x) noexcept;

  /// Closes the least recently used half of the kept files; false if none can be closed.
  bool close_half() noexcept;

private:
  /// The file that some thread is reading. Each has a cache line of its own.
  struct alignas(64) mark {
    std::atomic<const kept_file*> file = nullptr;
  };

  std::atomic<const kept_file*>* begin_reading(const kept_file& x) noexcept;
  bool close_to_readers(kept_file& x) const noexcept;
  bool is_read(const kept_file& x) const noexcept;
  bool is_left_behind() const noexcept { return is_maimed_by_fork() && !home_.is_here(); }
  file_descriptor beyond_places();
  file_descriptor take_least_recent() LEAT_REQUIRES(mutex_);
  file_descriptor take_out(kept_file& x) LEAT_REQUIRES(mutex_);

  limit_function limit_;
  process_mark home_;
  const bool has_barrier_;
  /// One for each of the first 256 threads of the process; all other threads share the second
  /// array.
  std::array<mark, 256> own_marks_ = {};
  std::array<mark, 64> shared_marks_ = {};
  /// Threads that read without a mark because all were taken; nothing is closed while there are
  /// any.
  std::atomic<std::size_t> unmarked_ = 0;
  mutex mutex_;
  /// Descriptors that are not kept files.
  std::size_t others_ LEAT_GUARDED_BY(mutex_) = 0;
  /// The open ones, in the order in which they were opened or last spared.
  std::list<kept_file*> kept_ LEAT_GUARDED_BY(mutex_);
};

/// The budget of this process. Never destroyed: threads may read while the process ends. The child
/// of a fork has another one if the parent had other threads.
descriptor_budget& process_descriptors() noexcept;

} // namespace leat
