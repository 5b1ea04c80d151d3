#pragma once

#include "runtime/rows/lane_loans.hpp"
#include "runtime/rows/row_worker.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/small_job.hpp"

#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

/// The lanes of a job, and a worker that runs them; no batch is made of their items.
struct borrowed_lanes {
  /// `data` has a batch.
  explicit borrowed_lanes(const pipeline& data, std::uint64_t epochs = 9)
      : plan(std::make_shared<job_plan>(plan_without_layout(data))),
        loans(1, SIZE_MAX, plan->shape.lanes, 1), worker(new_worker()) {
    const auto around =
        std::make_shared<const lane_surroundings>(lane_surroundings{.plan = plan->samples});
    const round_limits limits{.window = 4, .ahead = 100, .epochs = epochs};
    for (std::uint64_t i = 0; i < plan->shape.lanes; ++i) {
      lanes.push_back(std::make_shared<rank_lane>(around, i, plan->shape.lanes, limits));
      lanes.back()->round().begin({});
      loans.add(lanes.back());
    }
  }

  std::unique_ptr<row_worker> new_worker(std::optional<std::uint64_t> die_at = {}) const {
    auto x = std::make_unique<row_worker>();
    x->plan = plan;
    x->record = std::make_shared<worker_record>();
    x->function.emplace(plan, x->record);
    x->drill.die_at = die_at;
    return x;
  }

  /// Lanes that want to run, for one of `workers`; null if none does.
  std::unique_ptr<batch_slot> lend(std::size_t workers) {
    planned_batch turns;
    return loans.open_turns(turns, workers) ? slot_of(turns) : nullptr;
  }
  /// At most so many items to probe; null if none waits.
  std::unique_ptr<batch_slot> probe(std::size_t most) {
    planned_batch probe;
    return loans.open_probe(probe, most) ? slot_of(probe) : nullptr;
  }
  void run(batch_slot& slot) const {
    if (slot.holds_turns())
      REQUIRE(worker->run(slot, 0, slot.num_rows()) == row_worker::verdict::complete);
    for (std::size_t i = 0; i < slot.num_rows() && !slot.holds_turns(); ++i)
      worker->function->run(slot.request(i), {}, slot.result(i));
  }
  /// Everything that lanes want, until they want nothing.
  void run_all(std::size_t workers) {
    for (bool any = true; any;) {
      any = false;
      while (const auto turns = lend(workers)) {
        run(*turns);
        loans.close_turns(*turns);
        any = true;
      }
      while (const auto some = probe(64)) {
        run(*some);
        loans.close_probe(*some);
        any = true;
      }
    }
  }
  /// Numbers of the items of a lane that wait for a batch of that epoch.
  std::vector<std::uint64_t> items(std::size_t lane, std::uint64_t epoch = 0) const {
    std::vector<std::uint64_t> result;
    const auto& waiting = lanes[lane]->round().items();
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (!waiting[i].is_end && waiting[i].when == lap{epoch, 0})
        result.push_back(waiting[i].number);
    return result;
  }

  std::shared_ptr<job_plan> plan;
  lane_loans loans;
  std::vector<std::shared_ptr<rank_lane>> lanes;
  std::unique_ptr<row_worker> worker;

private:
  static std::unique_ptr<batch_slot> slot_of(planned_batch& rows) {
    auto slot = std::make_unique<batch_slot>(std::make_shared<batch_layout>(), rows.rows);
    slot->open(rows, false);
    return slot;
  }
};

/// What a filter's probe finds in an item that it keeps.
inline row_result passing() {
  row_result x;
  x.seen.found.number = 1;
  return x;
}

/// `n` records whose content a filter looks at, which keeps them all, in `lanes` lanes.
inline pipeline probed(std::uint64_t n, std::uint64_t lanes) {
  return count(n)
      .filter({.name = "all@1", .make = [] { return [](sample&) { return true; }; }})
      .batch(lanes, {.lanes = lanes, .end = epoch_end::mask});
}

} // namespace leat
