#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <thread>

namespace leat {

/// Watches files that other processes have locked. A blocking flock could be neither timed nor
/// ended, so the kernel is asked to tell what happens to a file: whoever holds the lock gives it
/// back by renaming, removing or closing the file, also when it dies. One thread waits for all.
/// Any thread may call.
class part_watch : not_copied {
public:
  using clock = std::chrono::steady_clock;
  enum class why : std::uint8_t { changed, deadline };

  /// Throws as begin_thread, and `errc::io` where the system watches no more files.
  part_watch();
  ~part_watch();

  /// Remembers from now on what happens to a file. Nothing if no more can be watched.
  std::optional<std::uint64_t> add(const file_descriptor& file);
  /// Calls `then` once, in the thread of this: when the file has changed since it was added, or
  /// since the last call, or at the deadline.
  void when_changed(std::uint64_t number, clock::time_point deadline,
                    std::function<void(why)> then);
  /// `then` of it may be called once more.
  void remove(std::uint64_t number);
  /// All that waits is called at once, as at its deadline, and so is what comes.
  void end_waiting();

private:
  struct watched {
    int descriptor = -1;
    bool has_changed = false;
    clock::time_point deadline = {};
    std::function<void(why)> then = {};
  };

  void run();
  void wake() noexcept;
  void take_events() LEAT_REQUIRES(mutex_);
  std::optional<std::function<void()>> next_due() LEAT_REQUIRES(mutex_);
  /// In milliseconds; -1: as long as it takes.
  int until_next() const LEAT_REQUIRES(mutex_);

  file_descriptor events_;
  file_descriptor wake_;
  mutex mutex_;
  std::map<std::uint64_t, watched> all_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t last_number_ LEAT_GUARDED_BY(mutex_) = 0;
  bool waits_no_more_ LEAT_GUARDED_BY(mutex_) = false;
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

} // namespace leat
