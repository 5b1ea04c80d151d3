#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <leat/export.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

namespace leat {

/// Cores that a control group leaves to its processes; empty if it sets no limit. `membership`: the
/// content of /proc/self/cgroup. `root`: where the file system of control groups is mounted. Reads
/// `cpu.max` (version 2) or `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1) of the group and
/// of all groups above it. Parts of a core count as a whole one.
std::optional<std::size_t> cores_of_cgroup(std::string_view membership,
                                           const std::filesystem::path& root);

/// See `<leat/loader.hpp>`, where it is declared for users.
LEAT_API std::size_t usable_cores();

/// Shares the cores of a process among loaders that choose their number of workers themselves. A
/// loader that has not asked for ten seconds needs none. Any thread.
class core_shares {
public:
  explicit core_shares(std::size_t cores) : cores_(cores) {}

  /// The number of cores for the member that asks, at least 1. `now_ns`: see `steady_ns`.
  std::size_t share(std::uint64_t member, std::int64_t now_ns);
  void leave(std::uint64_t member);
  /// A number that no other member has.
  std::uint64_t join();

  /// The one of this process, over `usable_cores()` as they were at the first call.
  static core_shares& of_process();

private:
  const std::size_t cores_;
  mutex mutex_;
  std::uint64_t next_ LEAT_GUARDED_BY(mutex_) = 0;
  /// When each member last asked.
  std::map<std::uint64_t, std::int64_t> asked_ns_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
