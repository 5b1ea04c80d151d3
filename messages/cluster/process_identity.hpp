#pragma once

#include <leat/hash128.hpp>

#include <cstdint>

namespace leat {

/// One process among all that ever ran on a cluster. Machines that were copied while they ran look
/// alike; nothing else does. A field of zeros is not known.
struct process_identity {
  /// Hash of /etc/machine-id, or of the host's name where there is none. Containers of one image
  /// may share it across machines.
  hash128 host = {};
  /// Hash of the kernel's boot id: this start of this machine.
  hash128 boot = {};
  /// Inodes of /proc/self/ns/pid and /proc/self/ns/time. In containers every process may be pid 1.
  std::uint64_t pid_namespace = 0;
  std::uint64_t time_namespace = 0;
  std::uint64_t pid = 0;
  /// Of /proc/PID/stat, in the time namespace above.
  std::uint64_t start_ticks = 0;

  friend bool operator==(const process_identity&, const process_identity&) = default;
};

} // namespace leat
