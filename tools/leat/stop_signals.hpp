#pragma once

#include "runtime/storage/file_descriptor.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace leat::command {

/// Ends a job on SIGINT and SIGTERM, as long as this lives. The first one is told, in a thread of
/// its own, to whoever can end the job in order; the second ends the process at once, with exit
/// code 128 and its number. Those that the process was started to ignore stay ignored (a job in
/// the background of a script). Made before any other thread of the job: all inherit that these
/// signals are left to this thread.
class stop_signals {
public:
  /// `first`: called once at most, with the signal. Throws `errc::no_resources`, `errc::io`.
  explicit stop_signals(std::function<void(int)> first);
  /// Signals that come later end the process as usual.
  ~stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  /// The first signal that came; 0: none did.
  int caught() const noexcept { return caught_.load(); }

private:
  void run();

  std::function<void(int)> first_;
  sigset_t taken_{};
  sigset_t before_{};
  std::atomic<int> caught_{0};
  file_descriptor signals_;
  file_descriptor end_;
  std::thread thread_;
};

/// "SIGINT" or "SIGTERM".
inline const char* name_of_signal(int signal) noexcept {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

/// Exit code of a job that this signal ended: 130 after SIGINT, 143 after SIGTERM.
inline int exit_code_of(int signal) noexcept {
  return 128 + signal;
}

} // namespace leat::command
