#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace leat::command {

/// Ends a job on SIGINT and SIGTERM, as long as this lives. For the first signal it calls a
/// function, in a thread of its own, which can end the job in order; the second ends the process at
/// once, with exit code 128 plus its number. Signals that the process was started to ignore stay
/// ignored (a job in the background of a script). Create it before any other thread of the job: all
/// threads inherit the mask that leaves these signals to its thread.
class stop_signals : not_copied {
public:
  /// `first` is called at most once, with the signal. Throws `errc::no_resources`, `errc::io`.
  explicit stop_signals(std::function<void(int)> first);
  /// Later signals end the process as usual.
  ~stop_signals();

  /// The first signal received; 0: none.
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
