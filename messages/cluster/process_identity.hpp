#pragma once

#include <leat/hash128.hpp>

#include <cstdint>

namespace leat {

/// Identifies one process among all that ever ran on a cluster, except those of machines that were
/// cloned while they ran. A field of zeros is unknown.
struct process_identity {
  /// Hash of /etc/machine-id, or of the host's name if there is none. Containers of one image may
  /// share it across machines.
  hash128 host = {};
  /// Hash of the kernel's boot id, which changes with each start of the machine.
  hash128 boot = {};
  /// Inodes of /proc/self/ns/pid and /proc/self/ns/time: in containers, many processes are pid 1.
  std::uint64_t pid_namespace = 0;
  std::uint64_t time_namespace = 0;
  std::uint64_t pid = 0;
  /// Start time of the process from /proc/PID/stat, in the time namespace above.
  std::uint64_t start_ticks = 0;

  friend bool operator==(const process_identity&, const process_identity&) = default;
};

} // namespace leat
