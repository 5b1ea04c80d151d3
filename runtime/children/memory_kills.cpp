#include "runtime/children/memory_kills.hpp"

#include "runtime/storage/whole_file.hpp"

#include <charconv>

namespace leat {

namespace {

/// The text of a file of the kernel; empty if it cannot be read.
std::string text_of(const std::string& path) noexcept {
  try {
    return read_whole_file(path, std::size_t{1} << 20, "memory");
  } catch (...) {
    return {};
  }
}

} // namespace

std::uint64_t number_in_lines(std::string_view text, std::string_view name) noexcept {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ')
      continue;
    std::uint64_t found = 0;
    std::from_chars(line.data() + name.size() + 1, line.data() + line.size(), found);
    return found;
  }
  return 0;
}

std::optional<std::string> events_file_of(std::string_view groups) {
  constexpr std::string_view version_2 = "0::";
  while (!groups.empty()) {
    const auto line = groups.substr(0, groups.find('\n'));
    if (line.starts_with(version_2))
      return "/sys/fs/cgroup" + std::string{line.substr(version_2.size())} + "/memory.events";
    groups.remove_prefix(line.size() == groups.size() ? line.size() : line.size() + 1);
  }
  return std::nullopt;
}

std::uint64_t memory_kills() noexcept try {
  auto kills = number_in_lines(text_of("/proc/vmstat"), "oom_kill");
  if (const auto events = events_file_of(text_of("/proc/self/cgroup")))
    kills += number_in_lines(text_of(*events), "oom_kill");
  return kills;
} catch (...) {
  return 0;
}

} // namespace leat
