#pragma once

#include "runtime/order/lane_round.hpp"

#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace leat {

/// What a lane has for the next batches of an epoch.
struct lane_supply {
  std::size_t items = 0;
  /// No more will come.
  bool is_dry = false;
  /// No more will come, because the lane's iterator threw.
  bool has_failed = false;
};

/// For a lane whose epochs end. Takes constant time while all that waits is of one epoch.
lane_supply supply_of(const lane_round& lane);
/// For a lane that begins again and again: counts no further than `enough`.
lane_supply supply_of(const lane_round& lane, std::size_t enough);

/// What the lanes of a rank tell about an epoch, from its next batch on. In an epoch without end,
/// only about the next batch.
struct epoch_outlook {
  /// Batches that the rank has rows for; the last of them may be one that is certain to fail. It
  /// never exceeds what the epoch will have, whatever the lanes meet: later ones are at least as
  /// many.
  std::uint64_t batches = 0;
  /// There will be no more of them.
  bool is_final = false;
  /// The next batch may be opened: what becomes of it is known, and whether it is the last.
  bool is_known = false;
  /// The next batch fails with this lane's failure.
  std::optional<std::size_t> failed = {};
};

/// `lanes` are those of one rank, at least one; a batch takes `per_batch` items of each, at least
/// 1. `waits_for_feed`: a lane needs a record that may not come for long.
epoch_outlook look_ahead(const std::vector<lane_supply>& lanes, epoch_end end,
                         std::size_t per_batch, bool waits_for_feed);

} // namespace leat
