#include "actors/worker.hpp"

#include "actors/caf/keep_until_end.hpp"

#include <caf/sec.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace leat {

worker_actor::behavior_type worker(worker_actor::stateful_pointer<worker_state> self,
                                   const worker_config& config, const batcher_actor& batcher) {
  auto& state = self->state;
  state.rows.plan = config.plan;
  state.rows.record = config.record;
  state.rows.function.emplace(config.plan, config.record);
  state.rows.drill = config.drill;
  state.batcher = batcher;
  keep_until_end(self, config.alive);
  // False if this worker must stop.
  auto is_to_go_on = [self](row_worker::verdict result, const chunk& work) {
    switch (result) {
    case row_worker::verdict::dead:
      self->quit(caf::make_error(caf::sec::runtime_error, std::string{"died on purpose"}));
      return false;
    case row_worker::verdict::cancelled:
      return false;
    case row_worker::verdict::batch_complete:
      self->send(self->state.batcher, complete_atom_v, work.slot);
      return true;
    case row_worker::verdict::going_on:
      break;
    }
    return true;
  };
  return {
      [self, is_to_go_on](chunk& message) {
        // A message outlives the actor that ends while it handles it.
        const chunk work = std::move(message);
        auto& x = self->state.rows;
        const auto most = [&] { return work.turns ? 1 : x.group(); };
        bool alive = true;
        for (std::span<const std::uint32_t> left = work.rows; alive && !left.empty();) {
          const auto n = std::min(most(), left.size());
          alive = is_to_go_on(x.run(*work.slot, left.first(n)), work);
          left = left.subspan(n);
        }
        while (alive && work.claims) {
          const auto rows = work.slot->claim(work.ticket, work.limit, x.record->id, most());
          if (!rows)
            break;
          alive = is_to_go_on(x.run(*work.slot, rows.first, rows.end), work);
        }
        x.rest();
      },
      [self](retire_atom) { self->quit(); },
  };
}

} // namespace leat
