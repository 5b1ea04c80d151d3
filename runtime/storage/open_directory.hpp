#pragma once

#include <filesystem>
#include <system_error>

namespace leat {

/// Begins to go through a directory, again where a signal interrupts that: newer versions of the
/// standard library open directories with a call that can be.
inline std::filesystem::directory_iterator open_directory(const std::filesystem::path& at,
                                                          std::error_code& problem) {
  for (;;)
    if (std::filesystem::directory_iterator entries{at, problem}; problem != std::errc::interrupted)
      return entries;
}

} // namespace leat
