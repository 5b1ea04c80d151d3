#pragma once

#include "messages/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/error.hpp>
#include <leat/job_position.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
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
};

/// What became of a save_request.
struct save_report {
  /// Nothing if the part is safe on the disk.
  std::optional<error> problem;
  /// The place of the oldest set that is left, if older ones were removed.
  std::optional<job_position> oldest;
  /// When it was begun and done, by the steady clock.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;
};

/// Writes the part. Failures, lack of memory included, are reported and not thrown.
save_report store(const save_request& request) noexcept;

struct checkpoint_state {
  static inline const char* name = "checkpoint";

  checkpoint_state() = default;
};

/// Spawn detached: fsync blocks. Lives until an exit message.
checkpoint_actor::behavior_type
checkpoint(checkpoint_actor::stateful_pointer<checkpoint_state> self, gate_token alive);

} // namespace leat
