#pragma once

#include "messages/cluster/process_identity.hpp"
#include "runtime/cluster/process/process_stat.hpp"

#include <cstdint>
#include <optional>

namespace leat {

/// The identity of this process. What the system does not tell stays unknown; throws only
/// std::bad_alloc. A child after fork is another process.
process_identity this_process();

/// True only if the process has certainly ended: it ran on this machine since its last start, in
/// this process's pid namespace, and there no process has its pid, or a later one does, or it is a
/// zombie without threads. False whenever that cannot be known: for other machines and containers,
/// and if /proc does not say. Silence never makes a process dead (rule 11 of the cluster).
bool is_known_dead(const process_identity& x);

/// What the system says about a pid.
struct pid_look {
  enum class presence : std::uint8_t { unknown, absent, present };

  presence found = presence::unknown;
  /// Nothing if it could not be read, or may be that of another pid namespace.
  std::optional<process_stat> stat = {};
};

/// Whether a look at `x.pid` by `witness` proves that `x` has ended.
bool proves_death(const process_identity& x, const process_identity& witness, const pid_look& look);

} // namespace leat
