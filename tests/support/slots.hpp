#pragma once

#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace leat {

/// Opens a slot with `n` rows at positions from `first` on.
inline void open_rows(batch_slot& slot, std::size_t n, bool is_claimable = false,
                      std::uint64_t first = 0, batch_plan plan = {}) {
  planned_batch batch;
  batch.plan = std::move(plan);
  for (std::size_t i = 0; i < n; ++i)
    batch.add().position = first + i;
  slot.open(batch, is_claimable);
}

/// Opens a slot that nobody uses any more as the order's next batch; false: not yet.
inline bool open_next(batch_order& order, batch_slot& slot, bool is_claimable = false) {
  planned_batch batch;
  if (!order.open(batch))
    return false;
  if (slot.state() != slot_state::free)
    slot.release();
  slot.open(batch, is_claimable);
  return true;
}

} // namespace leat
