#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace leat {

/// What /proc/PID/stat says of a process, as far as it is used here.
struct process_stat {
  /// 'R', 'S', 'Z', ...: of the first thread only, which may have ended before the others.
  char state = 0;
  std::uint64_t threads = 0;
  /// Clock ticks from the machine's start to the process's.
  std::uint64_t start_ticks = 0;
};

/// Reads the file's text; nothing if it is cut short. The process's name, which stands in
/// parentheses, may itself hold parentheses, spaces and newlines.
std::optional<process_stat> parse_process_stat(std::string_view text);

} // namespace leat
