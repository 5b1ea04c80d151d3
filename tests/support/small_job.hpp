#pragma once

#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/indexed_order.hpp"
#include "runtime/rows/inline_order.hpp"
#include "runtime/rows/iterator_order.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/row_runner.hpp"
#include "runtime/rows/worker_board.hpp"

#include <leat/dispatch_policy.hpp>
#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

inline constexpr std::array all_policies{dispatch_policy::on_demand, dispatch_policy::round_robin,
                                         dispatch_policy::by_lane};

/// How often the function ran for each (epoch, position).
using run_counts = std::map<std::pair<std::uint64_t, std::uint64_t>, int>;

/// A map whose output depends on sample, epoch and random numbers, so that any mistake shows in the
/// pixels. `counts`, if given, is for functions that run in one thread.
inline map_function noise(run_counts* counts) {
  return [counts](sample& s, context& c) {
    for (auto& x : s.make<std::uint32_t>("noise", {4}))
      x = c.rng()();
    s.set("text", s.id() + std::string(c.rng().below(9), 'x'));
    if (counts)
      ++(*counts)[{c.epoch(), c.position()}];
  };
}

/// The plan of a job that hashes pixels, with counts reset.
inline std::shared_ptr<job_plan> plan_of(const pipeline& data, run_counts* counts) {
  auto plan = std::make_shared<job_plan>(plan_job(data));
  plan->hash_pixels = true;
  if (counts)
    counts->clear(); // planning has run the function to find the layout
  return plan;
}

inline std::shared_ptr<job_plan> noisy_plan(std::uint64_t records, std::uint64_t rows,
                                            batch_options batching = {},
                                            run_counts* counts = nullptr) {
  auto data = count(records).shuffle({.seed = 5}).map("noise@1", noise(counts));
  return plan_of(data.batch(rows, batching), counts);
}

/// One batch as it left the pipeline.
struct finished_batch {
  batch_plan::kind what = batch_plan::kind::batch;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::vector<std::uint64_t> positions;
  std::vector<epoch_item> delivered;
  std::vector<hash128> pixels;
  std::vector<std::uint8_t> valid;
  hash128 digest;

  friend bool operator==(const finished_batch&, const finished_batch&) = default;
};

/// The batch in a closed slot.
inline finished_batch finished(const batch_slot& slot) {
  finished_batch x;
  x.what = slot.plan().what;
  if (slot.plan().what == batch_plan::kind::end)
    return x;
  x.epoch = slot.plan().epoch;
  x.step = slot.plan().step;
  for (std::size_t i = 0; i < slot.num_rows(); ++i) {
    x.positions.push_back(slot.request(i).position);
    x.delivered.push_back(slot.result(i).delivered);
    x.pixels.push_back(slot.result(i).pixels);
  }
  x.valid = slot.summary().valid;
  x.digest = slot.summary().digest;
  return x;
}

/// The most rows that a batch of one rank has.
inline std::size_t rows_of_rank(const job_plan& plan, std::uint64_t world_size = 1) {
  return (plan.shape.batch_rows + world_size - 1) / world_size;
}

/// The batches of one rank, from the beginning.
inline std::unique_ptr<batch_order> order_of_rank(const job_plan& plan, std::uint64_t epochs,
                                                  std::uint64_t rank = 0,
                                                  std::uint64_t world_size = 1,
                                                  bool lends_lanes = false) {
  if (plan.shape.is_indexed)
    return std::make_unique<indexed_order>(plan.shape, rank, world_size, epochs, job_position{});
  return std::make_unique<iterator_order>(plan.samples, plan.shape, rank, world_size, epochs,
                                          iterator_start{.at = {}, .lends_lanes = lends_lanes});
}

/// The batches that a job must give, its end included, or the first of them: made row by row,
/// without actors.
inline std::vector<finished_batch> expected_batches(const std::shared_ptr<const job_plan>& plan,
                                                    std::uint64_t epochs,
                                                    std::size_t most = SIZE_MAX) {
  batch_slot slot{plan->layout, rows_of_rank(*plan)};
  row_runner function{plan, std::make_shared<worker_record>()};
  inline_order order{order_of_rank(*plan, epochs), function};
  row_places places;
  std::vector<finished_batch> result;
  do {
    order.open(slot);
    for (std::size_t row = 0; row < slot.num_rows(); ++row) {
      function.run(slot.request(row), places.at(slot.memory(), row), slot.result(row));
      slot.finish(row);
    }
    slot.close();
    result.push_back(finished(slot));
    slot.release();
  } while (result.back().what == batch_plan::kind::batch && result.size() < most);
  return result;
}

} // namespace leat
