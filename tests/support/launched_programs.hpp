#pragma once

#include "tests/support/other_program.hpp"
#include "tests/support/random_faults.hpp"

#include <signal.h>

// What launchers of jobs under random faults have in common.

namespace leat::test {

/// With the name of its files.
using launched_program = std::pair<std::string, std::shared_ptr<other_program>>;

/// Removes those that have ended, tells so, and returns their names and exit codes.
inline std::vector<std::pair<std::string, int>> take_ended(std::vector<launched_program>& from,
                                                           fault_story& story) {
  std::vector<std::pair<std::string, int>> ended;
  for (auto x = from.begin(); x != from.end();) {
    if (x->second->is_running()) {
      ++x;
      continue;
    }
    const auto code = x->second->wait();
    story.tell("process " + x->first + " has ended with " + std::to_string(code));
    ended.emplace_back(x->first, code);
    x = from.erase(x);
  }
  return ended;
}

inline void stop_for(std::chrono::milliseconds length,
                     const std::shared_ptr<other_program>& program, fault_story& story) {
  program->signal(SIGSTOP);
  story.later(length, [program] { program->signal(SIGCONT); });
}

/// What a coordinator has said: which one it is of those of its state, and where it listens.
struct told_coordinator {
  unsigned long number = 0;
  std::uint16_t port = 0;
};

/// Nothing if it has not said all of that yet. These are its files.
inline std::optional<told_coordinator> coordinator_in(const std::string& output,
                                                      const std::string& errors) {
  const auto address = read_file(output);
  const auto log = read_file(errors);
  const std::string before = "leat coordinator: coordinator ";
  const auto at = log.find(before);
  if (address.find('\n') == address.npos || at == log.npos)
    return std::nullopt;
  return told_coordinator{
      std::stoul(log.substr(at + before.size())),
      static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)))};
}

} // namespace leat::test
