#pragma once

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

/// A file that is read at times, and stays open as long as its budget has a place for it.
class kept_file {
public:
  kept_file() = default;

private:
  friend class descriptor_budget;

  /// Changed with the budget's lock held, while the file is not open to readers.
  file_descriptor descriptor_ = {};
  std::atomic<bool> is_open_ = false;
  /// Since it was opened, or spared for that.
  std::atomic<bool> was_read_ = false;
  std::list<kept_file*>::iterator place_ = {};
};

/// Bounds how many descriptors stay open. Files that are only kept for later reads share its
/// places: the least recently used one is closed for the next. Reading a file that is open takes no
/// lock, and nobody waits: where all are being read at one time, there are more for as long.
/// Any thread.
class descriptor_budget {
public:
  /// How many descriptors the process may have; asked at each opening, as it may change.
  using limit_function = std::uint64_t (*)() noexcept;

  explicit descriptor_budget(limit_function limit = descriptor_limit) noexcept;
  descriptor_budget(const descriptor_budget&) = delete;
  descriptor_budget& operator=(const descriptor_budget&) = delete;

  /// Half of what the process may have: the rest is the program's own. Between 4 and 32,768.
  std::size_t places() const noexcept;

  /// A descriptor that stays open as long as this lives: a pipe, or one that is being opened. It
  /// takes a place from the files that are kept, which have a quarter of all places at least.
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

  /// While it lives, a file that is open, or is opened with it, stays open. One per thread at a
  /// time is fast.
  class reading {
  public:
    reading(descriptor_budget& in, kept_file& file) noexcept;
    ~reading();
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;

    bool is_open() const noexcept { return is_open_; }
    /// Keeps what was just opened; closes it where another thread was faster.
    void keep(file_descriptor descriptor);
    /// The descriptor of a file that is open.
    const file_descriptor& descriptor() const noexcept { return file_.descriptor_; }

  private:
    descriptor_budget& in_;
    kept_file& file_;
    std::atomic<const kept_file*>* mark_;
    bool is_open_;
  };

  /// Closes a file that nobody reads. In the child of a fork it stays open: a thread that was left
  /// behind may have the lock.
  void close(kept_file& x) noexcept;

  /// Closes half of the files that are kept, those that were not used for longest; false if there
  /// is none that can be closed.
  bool close_half() noexcept;

private:
  /// A file that some thread is reading.
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
  /// One for each of the first threads of the process; and those of all others.
  std::array<mark, 256> own_marks_ = {};
  std::array<mark, 64> shared_marks_ = {};
  /// Threads that read without a mark, as all were taken.
  std::atomic<std::size_t> unmarked_ = 0;
  mutex mutex_;
  /// Descriptors that are no kept files.
  std::size_t others_ LEAT_GUARDED_BY(mutex_) = 0;
  /// Those that are open, in the order in which they were opened, or spared since.
  std::list<kept_file*> kept_ LEAT_GUARDED_BY(mutex_);
};

/// That of this process. Never destroyed: threads may read while the process ends. The child of a
/// fork beside which there were threads has another one.
descriptor_budget& process_descriptors() noexcept;

} // namespace leat
