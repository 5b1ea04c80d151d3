#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace leat {

/// Another program, started with its output in a file. Killed with its owner.
class other_program {
public:
  other_program(const std::vector<std::string>& command, const std::string& output) {
    std::vector<char*> arguments;
    for (const auto& x : command)
      arguments.push_back(const_cast<char*>(x.c_str()));
    arguments.push_back(nullptr);
    // Emptied before this returns: what a former process printed is not taken for this one's.
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    pid_ = file < 0 ? -1 : ::fork();
    if (pid_ != 0)
      ::close(file);
    if (pid_ < 0)
      throw std::runtime_error("open or fork failed");
    if (pid_ == 0) {
      ::dup2(file, STDOUT_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
  }
  other_program(other_program&& other) noexcept : pid_(other.pid_) { other.pid_ = -1; }
  other_program(const other_program&) = delete;
  other_program& operator=(const other_program&) = delete;
  ~other_program() { kill(); }

  /// Sends SIGKILL and waits for the end.
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
  }

  /// Does nothing after wait(): kill(2) would take the -1 for all processes of the machine.
  void signal(int x) const {
    if (pid_ > 0)
      ::kill(pid_, x);
  }

  pid_t pid() const noexcept { return pid_; }

  /// True if it has not ended; a zombie has ended. Does not wait for it.
  bool is_running() const {
    siginfo_t info{};
    return pid_ > 0
           && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0
           && info.si_pid == 0;
  }

  /// Waits for the end; returns the exit code, or -1 after a signal. A process that hangs is ended
  /// before ctest's limit, after its threads' stacks were printed.
  int wait() {
    int status = 0;
    if (!ends_within(std::chrono::seconds{220}))
      show_threads_and_kill();
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

private:
  /// True also where the system cannot tell.
  bool ends_within(std::chrono::milliseconds limit) const {
    const auto file = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    pollfd end{.fd = file, .events = POLLIN, .revents = 0};
    const auto found = file < 0 ? 1 : ::poll(&end, 1, static_cast<int>(limit.count()));
    ::close(file);
    return found != 0;
  }
  void show_threads_and_kill() const {
    const auto number = std::to_string(pid_);
    const auto command = "gdb -p " + number
                         + " -batch -ex 'thread apply all bt' 2>&1 || head -n 1 /proc/" + number
                         + "/task/*/{comm,wchan,syscall}";
    std::cerr << "process " << number << " does not end; its threads:" << std::endl;
    (void)!std::system(("bash -c \"" + command + "\" >&2").c_str());
    ::kill(pid_, SIGKILL);
  }

  pid_t pid_ = -1;
};

struct finished_process {
  int code;
  std::string output;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Runs a program to its end. `scratch`: a file for its output.
inline finished_process run_process(const std::vector<std::string>& command,
                                    const std::string& scratch) {
  const int code = other_program{command, scratch}.wait();
  return {code, read_file(scratch)};
}

} // namespace leat
