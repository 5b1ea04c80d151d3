#include "demos/command/start_at.hpp"

#include "runtime/snapshot.hpp"

namespace leat::command {

void start_at(loader& x, std::uint64_t epoch, std::uint64_t step) {
  auto state = decode(x.snapshot(), "a new loader's snapshot");
  state.epoch = epoch;
  state.step = step;
  state.global_step = epoch * x.batches_per_epoch() + step;
  // One part of a world of one is complete: no sums are missing.
  state.rank = 0;
  state.world_size = 1;
  x.restore_parts({encode(state)});
}

} // namespace leat::command
