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
/// The file is written while they run, and is valid JSON at any time, even if the process is
/// killed. If it cannot be written any more, a notice says so and the jobs continue.
class LEAT_API trace {
public:
  static constexpr std::uint64_t default_max_bytes = std::uint64_t{64} << 20;

  /// Empties the file, or makes it. Anything other than a plain file (a FIFO) is written to, and is
  /// complete only at the end. `max_bytes`: what would exceed this is left out, and a note in the
  /// trace says so. Throws `errc::io`; `errc::invalid_argument` for a directory, and for less than
  /// 64 KiB.
  explicit trace(const std::string& file, std::uint64_t max_bytes = default_max_bytes);
  /// Writes the rest.
  ~trace();
  trace(const trace&) = delete;
  trace& operator=(const trace&) = delete;

  /// Writes everything that was recorded so far. Any thread.
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
