#include "actors/worker.hpp"

#include <caf/sec.hpp>

#include <thread>
#include <utility>

namespace leat {

worker_state::verdict worker_state::run(batch_slot& slot, std::size_t row) {
  auto& x = slot.rows[row];
  x.state.store(slot_row::phase::begun, std::memory_order_relaxed);
  if (drill.die_at && x.position >= *drill.die_at)
    return verdict::dead;
  // A row begins where the one before it ended: a look at the clock costs as much as a small row.
  auto begin = record->since_ns.load(std::memory_order_relaxed);
  if (begin == 0)
    record->since_ns.store(begin = steady_ns(), std::memory_order_relaxed);
  if (drill.slow_by.count() > 0)
    std::this_thread::sleep_for(drill.slow_by);
  function->run(slot, row);
  const auto end = steady_ns();
  record->busy_ns.fetch_add(end - begin, std::memory_order_relaxed);
  record->since_ns.store(end, std::memory_order_relaxed);
  record->rows_done.fetch_add(1, std::memory_order_relaxed);
  return slot.finish(row) ? verdict::batch_complete : verdict::going_on;
}

worker_actor::behavior_type worker(worker_actor::stateful_pointer<worker_state> self,
                                   const worker_config& config, const batcher_actor& batcher) {
  auto& state = self->state;
  state.plan = config.plan;
  state.record = config.record;
  state.function.emplace(config.plan, config.record);
  state.drill = config.drill;
  state.batcher = batcher;
  state.alive = config.alive;
  // False when this worker must not go on.
  auto run = [self](const chunk& work, std::size_t row) {
    if (self->state.plan->cancelled->load(std::memory_order_relaxed))
      return false;
    switch (self->state.run(*work.slot, row)) {
    case worker_state::verdict::dead:
      self->quit(caf::make_error(caf::sec::runtime_error, std::string{"died on purpose"}));
      return false;
    case worker_state::verdict::batch_complete:
      self->send(self->state.batcher, complete_atom_v, work.slot);
      return true;
    case worker_state::verdict::going_on:
      break;
    }
    return true;
  };
  return {
      [self, run](const chunk& work) {
        auto& record = *self->state.record;
        bool alive = true;
        record.rows_dealt.fetch_add(work.rows.size(), std::memory_order_relaxed);
        for (std::size_t i = 0; i < work.rows.size() && alive; ++i)
          alive = run(work, work.rows[i]);
        while (alive && work.claims) {
          auto row = work.slot->claim(work.generation, work.limit, record.id);
          if (!row)
            break;
          record.rows_dealt.fetch_add(1, std::memory_order_relaxed);
          alive = run(work, *row);
        }
        self->state.rest();
      },
      [self](retire_atom) { self->quit(); },
  };
}

} // namespace leat
