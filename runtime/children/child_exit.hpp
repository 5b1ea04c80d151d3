#pragma once

#include <cstdint>
#include <string>

namespace leat {

/// How a child process ended.
struct child_exit {
  enum class kind : std::uint8_t {
    /// With an exit code.
    exited,
    /// By a signal.
    signalled,
    /// Nobody knows: another part of the program has waited for it.
    unknown,
    /// It closed its connection, and ran on until it was ended for that.
    hung_up,
  };

  kind how = kind::unknown;
  /// The exit code, or the signal.
  int number = 0;
  /// The kernel has killed something for want of memory while the child lived.
  bool memory_ran_out = false;
};

/// "signal 11 (Segmentation fault)", "exit code 3"
std::string to_string(const child_exit& x);

/// What an end says about what the child was doing.
enum class end_of_child : std::uint8_t {
  /// It did this itself: a signal that stands for a fault, an exit, or a connection that it closed.
  fault,
  /// Something else ended it.
  lost,
  /// The kernel killed it because memory ran out.
  out_of_memory,
};

end_of_child meaning_of(const child_exit& x) noexcept;

/// How a child ended, by the status that ::waitpid gives.
child_exit exit_of(int status) noexcept;

} // namespace leat
