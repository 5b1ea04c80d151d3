#include "actors/inline_engine.hpp"

#include "runtime/base/exception_text.hpp"

#include <utility>

namespace leat {

inline_engine::inline_engine(engine_parts parts, caller_watch& watch)
    : slots_(parts.plan->layout, parts.rows) {
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

slot_ptr inline_engine::next() {
  auto slot = slots_.take();
  try {
    order_->open(*slot);
    if (slot->plan().what == batch_plan::kind::batch)
      worker_.run(*slot, 0, slot->num_rows());
    worker_.rest();
    slot->close();
  } catch (...) {
    throw error_in_flight(errc::io, {.stage = "iterators"});
  }
  return slot;
}

} // namespace leat
