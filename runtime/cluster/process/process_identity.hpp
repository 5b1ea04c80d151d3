#pragma once

#include "messages/cluster/process_identity.hpp"
#include "runtime/cluster/process/process_stat.hpp"

#include <cstdint>
#include <optional>

namespace leat {

/// What this process is. Whatever the system does not tell is not known; throws nothing but
/// std::bad_alloc. A child after fork is another process.
process_identity this_process();

/// True only if the process has certainly ended: it ran on this machine since its last start, in
/// this process's pid namespace, and there nothing has its pid, or a later process does, or it is a
/// zombie without threads. False whenever that cannot be known: for other machines and containers,
/// and where /proc does not tell. Silence never makes a process dead (rule 11 of the cluster).
bool is_known_dead(const process_identity& x);

/// What the system answers when it is asked for a pid.
struct pid_look {
  enum class presence : std::uint8_t { unknown, absent, present };

  presence found = presence::unknown;
  /// Nothing where it could not be read, or may be that of another pid namespace.
  std::optional<process_stat> stat = {};
};

/// Whether a look at `x.pid` by `witness` proves that `x` has ended.
bool proves_death(const process_identity& x, const process_identity& witness, const pid_look& look);

} // namespace leat
