#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <system_error>

namespace leat::test {

/// Names of the files in a directory that this process has open, each once per open descriptor.
inline std::multiset<std::string> open_names(const std::string& directory) {
  std::multiset<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    std::error_code closed;
    const auto file = std::filesystem::read_symlink(entry.path(), closed);
    if (!closed && file.parent_path() == directory)
      names.insert(file.filename().string());
  }
  return names;
}

} // namespace leat::test
