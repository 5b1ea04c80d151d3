#include "runtime/cluster/memory_state_directory.hpp"

namespace leat {

std::vector<std::string> memory_state_directory::list() {
  const mutex_lock lock{mutex_};
  std::vector<std::string> names;
  for (const auto& [name, text] : files_)
    names.push_back(name);
  return names;
}

bool memory_state_directory::create(const std::string& file, const std::string& text) {
  const mutex_lock lock{mutex_};
  return files_.emplace(file, text).second;
}

void memory_state_directory::replace(const std::string& file, const std::string& text) {
  const mutex_lock lock{mutex_};
  files_.insert_or_assign(file, text);
}

std::optional<std::string> memory_state_directory::read(const std::string& file) {
  const mutex_lock lock{mutex_};
  const auto found = files_.find(file);
  return found == files_.end() ? std::nullopt : std::optional{found->second};
}

void memory_state_directory::remove(const std::string& file) {
  const mutex_lock lock{mutex_};
  files_.erase(file);
}

} // namespace leat
