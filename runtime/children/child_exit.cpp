#include "runtime/children/child_exit.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace leat {

std::string to_string(const child_exit& x) {
  switch (x.how) {
  case child_exit::kind::exited:
    return "exit code " + std::to_string(x.number);
  case child_exit::kind::signalled:
    if (const char* name = ::sigdescr_np(x.number))
      return "signal " + std::to_string(x.number) + " (" + name + ")";
    return "signal " + std::to_string(x.number);
  case child_exit::kind::hung_up:
    return "it closed its connection, and ran on";
  case child_exit::kind::unknown:
    break;
  }
  return "an end that another part of the program has taken note of";
}

end_of_child meaning_of(const child_exit& x) noexcept {
  if (x.how == child_exit::kind::exited || x.how == child_exit::kind::hung_up)
    return end_of_child::fault;
  if (x.how == child_exit::kind::unknown)
    return end_of_child::lost;
  switch (x.number) {
  case SIGKILL:
    return x.memory_ran_out ? end_of_child::out_of_memory : end_of_child::lost;
  case SIGSEGV:
  case SIGBUS:
  case SIGILL:
  case SIGFPE:
  case SIGABRT:
  case SIGTRAP:
  case SIGSYS:
  case SIGPIPE:
  case SIGALRM:
  case SIGXCPU:
  case SIGXFSZ:
    return end_of_child::fault;
  default: // what people, schedulers and terminals send
    return end_of_child::lost;
  }
}

child_exit exit_of(int status) noexcept {
  if (WIFEXITED(status))
    return {child_exit::kind::exited, WEXITSTATUS(status)};
  if (WIFSIGNALED(status))
    return {child_exit::kind::signalled, WTERMSIG(status)};
  return {};
}

} // namespace leat
