#include "runtime/children/child_process.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/children/memory_kills.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace leat {

namespace {

/// What is done in the child before the program is executed.
class file_actions : not_copied {
public:
  file_actions() { check(::posix_spawn_file_actions_init(&all_)); }
  ~file_actions() { ::posix_spawn_file_actions_destroy(&all_); }

  void read_nothing() {
    check(::posix_spawn_file_actions_addopen(&all_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
  }
  void give(int descriptor, int as) {
    check(::posix_spawn_file_actions_adddup2(&all_, descriptor, as));
  }
  void close_from(int first) { check(::posix_spawn_file_actions_addclosefrom_np(&all_, first)); }
  const ::posix_spawn_file_actions_t* get() const noexcept { return &all_; }

private:
  static void check(int reason) {
    if (reason != 0)
      throw std::system_error(reason, std::generic_category());
  }

  ::posix_spawn_file_actions_t all_{};
};

/// No signal is blocked, and those that programs ignore are as at the start of any program.
class plain_signals : not_copied {
public:
  plain_signals() {
    ::posix_spawnattr_init(&all_);
    sigset_t signals;
    sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&all_, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&all_, &signals);
    ::posix_spawnattr_setflags(&all_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~plain_signals() { ::posix_spawnattr_destroy(&all_); }
  const ::posix_spawnattr_t* get() const noexcept { return &all_; }

private:
  ::posix_spawnattr_t all_{};
};

/// Copies above all numbers that a child gets its own under: none of them is overwritten before it
/// was given.
std::vector<file_descriptor> copies_of(std::span<const int> descriptors) {
  const int first_free = first_descriptor_of_child + static_cast<int>(descriptors.size());
  std::vector<file_descriptor> copies;
  for (const int x : descriptors) {
    copies.push_back(opened([&] { return ::fcntl(x, F_DUPFD_CLOEXEC, first_free); }));
    if (!copies.back())
      throw std::system_error(errno, std::generic_category());
  }
  return copies;
}

/// Returns what ::posix_spawn does.
int spawn(const std::vector<std::string>& arguments, std::span<const int> descriptors, pid_t& pid) {
  const auto copies = copies_of(descriptors);
  file_actions files;
  files.read_nothing();
  int as = first_descriptor_of_child;
  for (const auto& x : copies)
    files.give(x.get(), as++);
  files.close_from(as);
  const plain_signals signals;
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const auto& x : arguments)
    words.push_back(const_cast<char*>(x.c_str())); // NOLINT(cppcoreguidelines-pro-type-const-cast)
  words.push_back(nullptr);
  return ::posix_spawn(&pid, words[0], files.get(), signals.get(), words.data(), ::environ);
}

} // namespace

child_process::child_process(const std::string& stage, const std::vector<std::string>& arguments,
                             std::span<const int> descriptors)
    : owner_(::getpid()), memory_kills_before_(memory_kills()) {
  int reason = 0;
  try {
    // Below 0: a signal ended the child before it could execute anything.
    constexpr int most_tries = 10;
    for (int i = 0; i == 0 || (reason < 0 && i < most_tries); ++i)
      reason = spawn(arguments, descriptors, pid_);
  } catch (const std::system_error& problem) {
    reason = problem.code().value();
  }
  if (reason == 0)
    return;
  const std::error_code code{reason, std::generic_category()};
  throw error(
      is_of_the_machine(code) ? errc::no_resources : errc::worker_lost,
      {.stage = stage,
       .file = arguments[0],
       .got = "a process that did not start: " + code.message(),
       .needed = "a machine that lets processes begin, and a program that can be executed"});
}

child_process::~child_process() {
  (void)end();
}

child_exit child_process::end() noexcept {
  if (exit_ || owner_ != ::getpid())
    return exit_.value_or(child_exit{});
  int status = 0;
  // As long as nobody has waited for it, the number is its own.
  siginfo_t unused{};
  const bool is_ours =
      ::waitid(P_PID, static_cast<id_t>(pid_), &unused, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (is_ours)
    ::kill(pid_, SIGKILL);
  const bool is_known =
      is_ours && uninterrupted([&] { return ::waitpid(pid_, &status, 0); }) == pid_;
  exit_ = is_known ? exit_of(status) : child_exit{};
  exit_->memory_ran_out = memory_kills() > memory_kills_before_;
  return *exit_;
}

child_exit child_process::end_after(std::chrono::milliseconds patience) noexcept {
  if (exit_ || owner_ != ::getpid())
    return end();
  // An old kernel does not tell: it is killed at once, and nobody knows better how it ended.
  const file_descriptor handle{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  pollfd one{handle.get(), POLLIN, 0};
  const bool runs_on = handle && uninterrupted([&] {
                                   return ::poll(&one, 1, static_cast<int>(patience.count()));
                                 }) == 0;
  const auto how = end();
  if (runs_on && how.how == child_exit::kind::signalled && how.number == SIGKILL)
    exit_ = child_exit{.how = child_exit::kind::hung_up};
  return *exit_;
}

bool child_process::has_ended() const noexcept {
  if (exit_)
    return true;
  siginfo_t found{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &found, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno == ECHILD; // another part of the program has waited for it
  return found.si_pid == pid_;
}

} // namespace leat
