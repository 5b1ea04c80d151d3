#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/cluster.hpp>

#include "tools/leat/output.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
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

/// Runs a process that serves a job until it is done, or until a signal. What the command line
/// leaves open is as the environment of clusters says. Returns the exit code.
template <class Options>
int run_until_signal(const char* name, Options options, std::uint64_t memory_mb,
                     void (*run)(const Options&)) {
  std::stop_source stop;
  // Before any other thread exists: all inherit the signal mask.
  const stop_signals signals{[&](int signal) {
    print_notice(name, name_of_signal(signal));
    stop.request_stop();
  }};
  const auto by_environment = cluster::from_leat_env();
  if (options.certificates.empty())
    options.certificates = by_environment.certificates;
  options.token = by_environment.token;
  options.memory = memory_mb << 20;
  options.stop = stop.get_token();
  options.log = [name](const std::string& line) { print_notice(name, line); };
  run(options);
  return signals.caught() == 0 ? 0 : exit_code_of(signals.caught());
}

} // namespace leat::command
