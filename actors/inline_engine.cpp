#include "actors/inline_engine.hpp"

#include "runtime/base/exception_text.hpp"
#include "runtime/base/patience.hpp"

#include <algorithm>
#include <utility>

namespace leat {

inline_engine::inline_engine(engine_parts parts, caller_watch& watch)
    : metrics_(parts.metrics), slots_(parts.plan->layout, parts.rows, *metrics_, parts.memory) {
  const auto config = parts.crew->make(parts.plan, 0, false, {});
  worker_.plan = parts.plan;
  worker_.record = config.record;
  worker_.drill = config.drill;
  worker_.function.emplace(parts.plan, config.record);
  order_.emplace(std::move(parts.order), *worker_.function);
  watch.look_at(parts.plan, {config.record, parts.calls});
}

void inline_engine::make_room(std::size_t leases) {
  slots_.grow(1 + leases, [&](slot_ptr slot) { slots_.put(std::move(slot)); });
}

void inline_engine::recycle(slot_ptr slot) {
  slot->release();
  slots_.put(std::move(slot));
}

/// In groups, as workers take them: some rows of each group are measured.
void inline_engine::make_rows(batch_slot& slot) {
  auto result = worker_state::verdict::going_on;
  for (std::size_t i = 0; i < slot.num_rows() && result == worker_state::verdict::going_on;) {
    const auto n = std::min(worker_.group(), slot.num_rows() - i);
    result = worker_.run(slot, i, i + n);
    i += n;
  }
}

slot_ptr inline_engine::next() {
  auto slot = slots_.take();
  try {
    const auto begin = steady_ns();
    order_->open(*slot);
    metrics_->dealt(begin, steady_ns());
    if (slot->plan().what == batch_plan::kind::batch)
      make_rows(*slot);
    worker_.rest();
    slot->close();
  } catch (const patience_ended&) { // before it was opened
    slots_.put(std::move(slot));
    throw;
  } catch (...) {
    throw error_in_flight(errc::io, {.stage = "iterators"});
  }
  return slot;
}

} // namespace leat
