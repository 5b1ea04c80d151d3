#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace leat::test {

/// Children of this process that it has not waited for.
inline std::vector<pid_t> living_children() {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream from{task.path() / "children"};
    for (pid_t pid = 0; from >> pid;)
      found.push_back(pid);
  }
  return found;
}

} // namespace leat::test
