#include "tests/cluster/simulated_job.hpp"

#include "runtime/base/call_record.hpp"
#include "runtime/job/epoch_end_agreement.hpp"
#include "runtime/job/resume.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/rows/row_id.hpp"

#include <leat/error.hpp>
#include <leat/functions.hpp>
#include <leat/order.hpp>
#include <leat/pipeline.hpp>
#include <leat/pipeline_facts.hpp>
#include <leat/sources.hpp>

namespace leat::test {

namespace {

/// Steps of a job without end.
constexpr std::uint64_t endless_steps = 14;
constexpr std::size_t fewest_batches = 4;
constexpr std::size_t most_batches = 60;

pipeline pipeline_of(std::uint64_t number, std::uint64_t n, std::uint64_t lanes) {
  const auto data = count(n).shuffle({.seed = number});
  const auto ids = data.filter(key_hash(90, number));
  const auto content = [&](const pipeline& x, std::uint64_t keep) {
    return x.filter(field_hash("value", keep, number));
  };
  const std::vector<pipeline> all{
      count(n),
      data,
      data.map(rename("value", "x")).enumerate(),
      zip({data, count(n - 3).shuffle({.seed = 9}).map(rename("value", "other"))}),
      ids,
      data.filter(key_hash(60, 2)),
      content(data, 60),
      ids.shuffle_buffer(4 * lanes),
      data.shuffle_buffer(3 * lanes).pack("value", 12, {.bins = 2}),
      zip({ids, content(count(n), 80).map(rename("value", "other"))}),
      mix({ids, count(n).filter(key_hash(70))}, {.weights = {2, 1}}),
      content(count(n / 2 + lanes), 70).repeat(2),
      content(data.map(pad("value", 12)), 60).shuffle_buffer(3 * lanes),
      data.scan(running_count("before")).sample(0.8),
      data.flat_map(copies(2)).filter(key_hash(50, 4)),
      mix({content(data, 90).shuffle_buffer(2 * lanes), count(n / 2 + lanes)},
          {.weights = {1, 2}, .stop = mix_stop::cycle})};
  return all.at(number);
}

pipeline batches_of(const job_choice& x) {
  const auto rows = x.lanes * x.items_per_lane;
  const auto n = rows * (7 + 6 * x.size) + x.lanes / 2 + 1;
  return pipeline_of(x.pipeline, n, x.lanes).batch(rows, {.lanes = x.lanes, .end = x.end});
}

} // namespace

// -- batches

batch_list::batch_list(const rank_job& from)
    : plan_(from.plan), function_(from.plan, std::make_shared<worker_record>()),
      order_(from.make_order(std::make_shared<call_record>()), function_) {}

listed_batch batch_list::next() {
  const auto& planned = order_.next();
  listed_batch x{.plan = planned.plan, .rows = {}, .digest = {}};
  if (x.plan.what != batch_plan::kind::batch)
    return x;
  order_cache orders{plan_->samples->num_shuffles};
  x.rows.reserve(planned.rows);
  for (std::size_t i = 0; i < planned.rows; ++i) {
    const auto& row = planned.requests[i];
    id_.clear();
    append_id(row, row.own, *plan_->samples, plan_->shape.lanes, orders, id_);
    x.digest += row_digest(row.epoch, row.position, id_);
    x.rows.emplace_back(row.position, id_);
  }
  return x;
}

void count_batch(rank_job& job, const listed_batch& x) {
  job.pass(x.plan);
  job.at.sums.digest += x.digest;
  job.at.sums.epoch_digest += x.digest;
  job.at.sums.samples += x.rows.size();
}

// -- jobs

std::shared_ptr<const simulated_job> simulated_job::of(const job_choice& x) {
  static std::map<job_choice, std::shared_ptr<const simulated_job>> all;
  const auto [found, is_new] = all.try_emplace(x);
  if (!is_new)
    return found->second;
  try {
    auto job = std::make_shared<const simulated_job>(x);
    if (job->batches().size() >= fewest_batches && job->batches().size() <= most_batches)
      found->second = std::move(job);
  } catch (const error& problem) {
    if (problem.code() != errc::empty_epoch)
      throw;
  }
  return found->second;
}

simulated_job::simulated_job(const job_choice& x) {
  const auto data = batches_of(x);
  first_.plan = std::make_shared<const job_plan>(plan_job(data));
  const auto& shape = first_.plan->shape;
  first_.epochs = x.epochs;
  first_.steps = shape.is_endless() ? endless_steps : UINT64_MAX;
  first_.facts = describe(data, shape.lanes);
  first_.encode = snapshot_encoder{first_.facts};
  first_.records =
      std::make_shared<journal_retention>(first_.plan->samples->feeds, shape.lanes, 0, 1);
  beginning_ = first_.encoded_at({});
  auto job = first_;
  batch_list batches{job};
  while (!job.is_over()) {
    const auto found = batches.next();
    if (found.plan.what == batch_plan::kind::end)
      break;
    if (found.plan.what == batch_plan::kind::failed)
      throw error(*found.plan.failure);
    const auto at = job.at.next;
    count_batch(job, found);
    batches_[at] = {found.rows, job.at.next, job.at.sums.digest, job.at.sums.samples};
  }
  end_ = job.at.next;
}

rank_job simulated_job::job_of(std::uint64_t rank, std::uint64_t world_size) const {
  auto job = first_;
  job.rank = rank;
  job.world_size = world_size;
  return job;
}

bool simulated_job::needs_ends(std::uint64_t world_size) const {
  const auto& shape = first_.plan->shape;
  return !shape.is_indexed && !shape.is_endless() && world_size > 1;
}

job_position simulated_job::after(const job_position& x) const {
  const auto found = batches_.find(x);
  return found == batches_.end() ? job_position{UINT64_MAX, 0} : found->second.next;
}

std::uint64_t simulated_job::global_step_at(const job_position& x) const {
  return static_cast<std::uint64_t>(std::distance(batches_.begin(), batches_.lower_bound(x)));
}

std::map<job_position, row_ids> simulated_job::rest_of(const std::vector<snapshot>& parts,
                                                       std::uint64_t world_size) const {
  struct runner {
    rank_job job;
    std::unique_ptr<batch_list> batches;
    std::unique_ptr<epoch_end_agreement> ends;
    listed_batch next = {};
  };
  std::vector<epoch_agreement> said(world_size);
  std::vector<runner> ranks(world_size);
  for (std::uint64_t i = 0; i < world_size; ++i) {
    auto& x = ranks[i];
    x.job = job_of(i, world_size);
    resume(x.job, parts, true, {});
    x.batches = std::make_unique<batch_list>(x.job);
    x.ends = std::make_unique<epoch_end_agreement>(x.job.plan->shape, world_size,
                                                   [&](const epoch_agreement&) { return said; });
  }
  std::map<job_position, row_ids> all;
  while (!ranks.front().job.is_over()) {
    for (auto& x : ranks) {
      x.next = x.batches->next();
      if (x.next.plan.what == batch_plan::kind::failed)
        throw error(*x.next.plan.failure);
      const auto& horizon = x.next.plan.horizon;
      said[x.job.rank] = {static_cast<std::int64_t>(horizon.batches), horizon.is_final ? 1 : 0, 0};
    }
    if (ranks.front().next.plan.what == batch_plan::kind::end)
      break;
    for (auto& x : ranks) {
      x.next.plan.end_of_epoch = x.ends->settle(x.next.plan, x.job.at);
      auto& rows = all[x.job.at.next];
      rows.insert(rows.end(), x.next.rows.begin(), x.next.rows.end());
      count_batch(x.job, x.next);
      if (x.next.plan.end_of_epoch)
        x.ends->begin_epoch();
      x.batches->begin_epoch(x.job.at.next.epoch);
    }
  }
  for (auto& [at, rows] : all)
    std::sort(rows.begin(), rows.end());
  return all;
}

} // namespace leat::test
