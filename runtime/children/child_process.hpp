#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/children/child_exit.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// Descriptors of a child: those that it is given, from here on.
inline constexpr int first_descriptor_of_child = 3;

/// A process that this one has started: a program that was executed, never a mere fork, so that it
/// has no locks, threads or memory of this one. Used by one thread at a time.
class child_process : not_copied {
public:
  /// Starts the program `arguments[0]`, an absolute path. It has these descriptors, from
  /// first_descriptor_of_child on, standard output and error, nothing to read, no other open files,
  /// and no blocked signals. `stage` is named in errors. Throws `errc::no_resources` if the machine
  /// has no room for it, and `errc::worker_lost` if there is no such program.
  child_process(const std::string& stage, const std::vector<std::string>& arguments,
                std::span<const int> descriptors);
  /// Ends it.
  ~child_process();

  /// Kills it if it lives, and says how it ended. The child of a fork leaves it alone.
  child_exit end() noexcept;
  /// The same for one that has closed its connection: most are about to end, and only one that
  /// still runs after `patience` is killed.
  child_exit end_after(std::chrono::milliseconds patience) noexcept;
  bool has_ended() const noexcept;

private:
  pid_t pid_ = -1;
  pid_t owner_;
  std::uint64_t memory_kills_before_;
  std::optional<child_exit> exit_;
};

} // namespace leat
