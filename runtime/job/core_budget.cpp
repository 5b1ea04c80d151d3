#include "runtime/job/core_budget.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

namespace leat {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t idle_ns = 10'000'000'000;

std::string content_of(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Rounded up; empty unless both are numbers above 0 (they may be "max" or -1).
std::optional<std::size_t> cores_of(const std::string& quota, const std::string& period) {
  const auto number = [](const std::string& text) {
    std::int64_t x = 0;
    std::istringstream{text} >> x;
    return x;
  };
  const auto of_quota = number(quota);
  const auto of_period = number(period);
  if (of_quota <= 0 || of_period <= 0)
    return std::nullopt;
  return static_cast<std::size_t>((of_quota - 1) / of_period + 1);
}

/// The limit that one group itself sets.
std::optional<std::size_t> limit_of(const fs::path& group) {
  std::istringstream both{content_of(group / "cpu.max")};
  std::string quota;
  std::string period;
  if (both >> quota >> period)
    return cores_of(quota, period);
  return cores_of(content_of(group / "cpu.cfs_quota_us"), content_of(group / "cpu.cfs_period_us"));
}

/// The lowest limit of the group and all groups above it that are visible from here: in a container
/// that is often just the mount, whatever the path says.
std::optional<std::size_t> least_limit(const fs::path& mount, const fs::path& group) {
  std::optional<std::size_t> least;
  for (auto at = group.relative_path();; at = at.parent_path()) {
    if (const auto limit = limit_of(mount / at))
      least = std::min(least.value_or(*limit), *limit);
    if (at.empty())
      return least;
  }
}

bool names_cpu(const std::string& controllers) {
  std::istringstream list{controllers};
  for (std::string x; std::getline(list, x, ',');)
    if (x == "cpu")
      return true;
  return false;
}

std::size_t cores_of_affinity() {
  for (std::size_t most = 1024; most <= std::size_t{1} << 20; most *= 2) {
    std::vector<cpu_set_t> sets(most / CPU_SETSIZE);
    const auto bytes = sets.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, sets.data()) == 0)
      return static_cast<std::size_t>(CPU_COUNT_S(bytes, sets.data()));
  }
  return std::thread::hardware_concurrency();
}

} // namespace

std::optional<std::size_t> cores_of_cgroup(std::string_view membership, const fs::path& root) {
  std::istringstream lines{std::string{membership}};
  std::optional<std::size_t> least;
  for (std::string line; std::getline(lines, line);) {
    // "0::/group" in version 2, "4:cpu,cpuacct:/group" in version 1.
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto group = line.substr(second + 1);
    if (!controllers.empty() && !names_cpu(controllers))
      continue;
    const auto mount = controllers.empty() ? root : root / controllers;
    if (const auto limit = least_limit(mount, group))
      least = std::min(least.value_or(*limit), *limit);
  }
  return least;
}

std::size_t usable_cores() {
  const auto cores = cores_of_affinity();
  const auto limit = cores_of_cgroup(content_of("/proc/self/cgroup"), "/sys/fs/cgroup");
  return std::max<std::size_t>(1, std::min(cores, limit.value_or(cores)));
}

std::size_t core_shares::share(std::uint64_t member, std::int64_t now_ns) {
  const mutex_lock lock{mutex_};
  asked_ns_[member] = now_ns;
  const auto active = std::count_if(asked_ns_.begin(), asked_ns_.end(),
                                    [&](const auto& x) { return now_ns - x.second < idle_ns; });
  return std::max<std::size_t>(1, cores_ / static_cast<std::size_t>(active));
}

void core_shares::leave(std::uint64_t member) {
  const mutex_lock lock{mutex_};
  asked_ns_.erase(member);
}

std::uint64_t core_shares::join() {
  const mutex_lock lock{mutex_};
  return next_++;
}

core_shares& core_shares::of_process() {
  // Never destroyed: a loader may live as long as the process.
  static auto* const shares = new core_shares{usable_cores()};
  return *shares;
}

} // namespace leat
