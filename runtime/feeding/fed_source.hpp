#pragma once

#include "runtime/base/metrics.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/feeding/covered_records.hpp"
#include "runtime/feeding/feed_desk.hpp"
#include "runtime/feeding/feed_settings.hpp"
#include "runtime/sources/live/read_ahead.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace leat {

/// The source's side of a feed: one thread reads it as far as ranks look, and one lets go of what
/// they have covered. Where it is not said otherwise, of the desk's mutex.
class fed_source : not_copied {
public:
  /// All of these outlive this.
  fed_source(const feed_settings& options, feed_records& records, feed_desk& desk);

  /// After the desk has ended: what ranks have covered is acknowledged before the source is closed,
  /// if it takes that soon.
  ~fed_source();

  /// Begins the threads. Throws as joined_threads.
  void begin();
  /// The process is asked to end: nothing more is read. A queue stays open until it is told what is
  /// covered. Any thread.
  void leave_input() noexcept;

private:
  void read() noexcept;
  void forget_covered() noexcept;
  bool wait_for_last() noexcept;
  void read_all(std::unique_ptr<record_reader>& by);
  void reopen(std::unique_ptr<record_reader>& by);
  bool wait_until_wanted();
  bool note_read(const record_reader::result& got, thread_work& work);
  /// What users heard last of a rank that has to wait.
  struct last_told {
    std::string text = {};
    std::chrono::steady_clock::time_point at = {};
  };
  bool forget_some(covered_records& covered, last_told& told);
  void fail() noexcept;

  const feed_settings& options_;
  feed_records& records_;
  feed_desk& desk_;
  /// Where the records come from; null if nobody there wants to know what is covered.
  placed_input* const queue_;
  read_ahead ahead_ LEAT_GUARDED_BY(desk_.guard);
  /// While the source is being read.
  record_reader* reader_ LEAT_GUARDED_BY(desk_.guard) = nullptr;
  /// The source had ended before this process began, and is still to be opened for what ranks have
  /// covered.
  bool has_to_reopen_ LEAT_GUARDED_BY(desk_.guard);
  /// The thread that forgets has not returned.
  bool is_forgetting_ LEAT_GUARDED_BY(desk_.guard) = false;
  /// What is covered is acknowledged, as far as it can be.
  bool is_over_ LEAT_GUARDED_BY(desk_.guard) = false;
  joined_threads threads_;
};

} // namespace leat
