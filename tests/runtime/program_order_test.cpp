#include "runtime/program_order.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/small_job.hpp"

#include <leat/functions.hpp>
#include <leat/pipeline.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace leat {
namespace {

/// What one thread sees of a slot as soon as it is complete, while another one opens it.
struct sighting_of_batch {
  std::uint64_t step = 0;
  std::shared_ptr<const lane_states> lanes;
  epoch_horizon horizon;
};

TEST_CASE("program_order: who sees an empty batch complete sees all that it was opened with") {
  // The second rank's lane has nothing: all its batches are empty, and complete when they are
  // opened.
  const auto data = count(1).filter(key_hash(100)).batch(2, {.end = epoch_end::mask});
  const auto plan = plan_of(data, nullptr);
  const auto order = order_of_rank(*plan, 1, 1, 2);
  batch_slot slot{plan->layout, 1};
  constexpr std::uint64_t batches = 1000;
  std::atomic<std::uint64_t> seen{0};
  std::vector<sighting_of_batch> sightings(batches);
  slot.reserve();
  std::thread other{[&] {
    for (auto& x : sightings) {
      for (int i = 1; !slot.complete(); ++i)
        if (i % 4096 == 0) // else as soon as can be
          std::this_thread::yield();
      x = {slot.step, slot.lanes, slot.horizon};
      slot.reserve();
      ++seen;
    }
  }};
  for (std::uint64_t step = 0; step < batches; ++step) {
    REQUIRE(order->open(slot));
    while (seen <= step)
      std::this_thread::yield();
  }
  other.join();
  const lane_states* former = nullptr;
  for (std::uint64_t step = 0; step < batches; ++step) {
    CAPTURE(step);
    const auto& x = sightings[step];
    REQUIRE(x.step == step);
    REQUIRE(x.lanes);
    REQUIRE(x.lanes.get() != std::exchange(former, x.lanes.get())); // not the former batch's
    REQUIRE(x.lanes->size() == 1);
    REQUIRE(x.lanes->front().lane == 1);
    REQUIRE(x.horizon.batches == step);
    REQUIRE(x.horizon.is_final);
  }
}

} // namespace
} // namespace leat
