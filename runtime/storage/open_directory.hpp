#pragma once

#include "runtime/storage/file_descriptor.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace leat {

/// Begins to iterate over a directory. Like `opened`, it tries again if a signal interrupts it
/// (newer versions of the standard library open directories with a call that can be interrupted),
/// and once more after making room if there are no more descriptors.
inline std::filesystem::directory_iterator open_directory(const std::filesystem::path& at,
                                                          std::error_code& problem) {
  for (bool made_room = false;;) {
    std::filesystem::directory_iterator entries{at, problem};
    if (problem == std::errc::interrupted)
      continue;
    errno = problem.value();
    if (!problem || made_room || !close_files_for_room())
      return entries;
    made_room = true;
  }
}

} // namespace leat
