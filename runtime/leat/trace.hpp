#pragma once

#include <leat/export.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace leat {

class trace_recorder;

/// A timeline of what loaders do, as a file that https://ui.perfetto.dev and chrome://tracing open:
/// rows and their stages by worker, batches by slot, waits of next(), snapshots. Give it to any
/// number of loaders (`loader_options::trace`), each of which has a group of tracks there.
///
/// The file is written while they run, and is whole JSON whenever it is looked at, also where the
/// process is killed. Where it cannot be written any more, a notice says so and the jobs go on.
class LEAT_API trace {
public:
  static constexpr std::uint64_t default_max_bytes = std::uint64_t{64} << 20;

  /// Empties the file, or makes it. What is no plain file (a FIFO) is written to, and is whole at
  /// the end alone. `max_bytes`: what is recorded behind them is left out, which the trace says.
  /// Throws `errc::io`; `errc::invalid_argument` for a directory, and for less than 64 KiB.
  explicit trace(const std::string& file, std::uint64_t max_bytes = default_max_bytes);
  /// Writes what is left.
  ~trace();
  trace(const trace&) = delete;
  trace& operator=(const trace&) = delete;

  /// Writes all that was recorded so far. Any thread.
  void flush();

  /// Spans that `max_bytes` left out. Any thread.
  std::uint64_t spans_left_out() const noexcept;

private:
  friend trace_recorder& recorder_of(trace& x) noexcept;

  std::unique_ptr<trace_recorder> recorder_;
};

/// For loaders.
trace_recorder& recorder_of(trace& x) noexcept;

} // namespace leat
