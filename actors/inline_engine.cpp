#include "actors/inline_engine.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/threads/patience.hpp"

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
  worker_.decode_on(config.device);
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

void inline_engine::rewind(std::uint64_t run) {
  worker_.settle();
  if (begun_)
    recycle(std::move(begun_));
  order_->rewind(run);
}

/// In groups, as workers take them: some rows of each group are measured.
void inline_engine::make_rows() {
  auto result = row_worker::verdict::going_on;
  while (made_ < begun_->num_rows() && result == row_worker::verdict::going_on) {
    const auto n = std::min(worker_.group(), begun_->num_rows() - made_);
    result = worker_.run(*begun_, made_, made_ + n);
    if (worker_.function->was_interrupted())
      throw_interruption(*begun_, made_, made_ + n);
    made_ += n;
    check_patience();
  }
}

void inline_engine::note_dealt(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  metrics_->dealt(begin_ns, end_ns);
  add_alone(worker_.record->busy_ns, end_ns - begin_ns);
  add_alone(worker_.record->iterating_ns, end_ns - begin_ns);
}

slot_ptr inline_engine::next() {
  try {
    if (!begun_) {
      auto slot = slots_.take();
      const auto begin = steady_ns();
      try {
        order_->open(*slot);
      } catch (...) {
        slots_.put(std::move(slot));
        throw;
      }
      note_dealt(begin, steady_ns());
      begun_ = std::move(slot);
      made_ = 0;
    }
    if (begun_->plan().what == batch_plan::kind::batch)
      make_rows();
    worker_.settle();
    worker_.rest();
    begun_->close();
  } catch (const patience_ended&) {
    throw; // the next call continues the batch that has begun
  } catch (...) {
    throw error_in_flight(errc::io, {.stage = "iterators"});
  }
  return std::exchange(begun_, nullptr);
}

} // namespace leat
