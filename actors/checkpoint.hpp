#pragma once

#include "messages/interfaces.hpp"
#include "runtime/base/gate.hpp"
#include "runtime/job/journal_retention.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace leat {

/// One part to be stored. Sent inside one process only.
struct save_request {
  std::string directory;
  std::shared_ptr<const snapshot> part;
  /// Complete sets to keep.
  std::uint64_t keep = 1;
  /// May be null. Told which records no snapshot needs any more.
  std::shared_ptr<journal_retention> records;
  /// May be null. Told how long it took, and how many bytes it has.
  job_metrics* metrics = nullptr;
  /// Told once, when the part is safe on the disk or could not be written.
  std::function<void(std::optional<error>)> done;
};

/// Writes the part; what goes wrong is told to `done`, not thrown.
void store(const save_request& request);

struct checkpoint_state {
  static inline const char* name = "checkpoint";

  checkpoint_state() = default;

  gate_token alive;
};

/// Spawn detached: fsync blocks. Lives until an exit message.
checkpoint_actor::behavior_type
checkpoint(checkpoint_actor::stateful_pointer<checkpoint_state> self, gate_token alive);

} // namespace leat
