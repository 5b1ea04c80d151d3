#pragma once

#include "runtime/children/child_exit.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace leat {

/// Calls that go to processes together.
struct dealt_part {
  std::size_t first = 0;
  std::size_t end = 0;
  /// It needs a process that has made no calls yet: one that was damaged by others says nothing
  /// about this one.
  bool needs_new_process = false;

  // What ended processes that had this call alone:
  int faults = 0;
  int times_without_memory = 0;
  /// Also while they began.
  int losses = 0;

  std::size_t size() const noexcept { return end - first; }
};

/// Why a call is not made again.
struct call_verdict {
  enum class kind : std::uint8_t {
    /// It killed two processes: its sample is bad.
    killed,
    /// The kernel killed two of its processes because memory ran out.
    no_memory,
    /// So many of its processes were ended from outside that the next one would be, too.
    lost,
  };

  kind what = kind::killed;
  std::size_t call = 0;
  /// How the last one ended.
  child_exit how = {};
};

/// Which calls go to which process next, and what the end of a process says about its calls. A
/// plain value: it knows no processes.
///
/// A process has one part at a time. If it ends, its calls are made again, one by one. Only a fault
/// convicts a call, and only the second one that happens while the process has nothing else: the
/// first may be due to a call before it, so the next process makes this call first. What ends a
/// process from outside convicts nobody, however often it does.
class dealt_calls {
public:
  static constexpr int most_faults = 2;
  static constexpr int most_times_without_memory = 2;
  static constexpr int most_losses = 10;

  dealt_calls(std::size_t calls, std::size_t processes);

  /// What goes to the next free process; nothing if all parts are dealt or done.
  std::optional<dealt_part> next();
  bool has_next() const noexcept { return !waiting_.empty(); }
  /// The first call of it; only if there is one.
  std::size_t next_call() const noexcept { return waiting_.front().first; }
  /// A process ended that had this part. `had_begun`: it could make calls, and was not ended while
  /// it prepared for them. If there is no verdict, the calls are dealt again.
  std::optional<call_verdict> ended(const dealt_part& part, const child_exit& how, bool had_begun);
  /// No other calls are dealt.
  void drop() noexcept { waiting_.clear(); }

private:
  std::deque<dealt_part> waiting_;
};

} // namespace leat
