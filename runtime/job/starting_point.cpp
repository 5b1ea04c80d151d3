#include "runtime/job/starting_point.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/rows/inline_order.hpp"
#include "runtime/rows/row_runner.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace leat {

namespace {

[[noreturn]] void refuse_seek(const job_position& to, std::string needed) {
  refuse_argument("seek", "epoch " + std::to_string(to.epoch) + " step " + std::to_string(to.step),
                  std::move(needed));
}

/// Batches of the job before a position.
std::uint64_t batches_before(const epoch_geometry& shape, const job_position& x) {
  std::uint64_t before = 0;
  if (shape.has_length()
      && (x.step >= shape.batches() || __builtin_mul_overflow(x.epoch, shape.batches(), &before)))
    refuse_seek(x, "a step below " + std::to_string(shape.batches())
                       + " of an epoch that can be counted to");
  return before + x.step;
}

/// Runs through the next n batches of an order that is not indexed, without making samples.
void run_through(rank_job& job, std::uint64_t n, epoch_end_agreement& ends,
                 const prepare_caller& prepare) {
  if (n == 0)
    return;
  const auto told = prepare();
  row_runner looks{job.plan, told.rows};
  inline_order batches{job.make_order(told.iterators), looks};
  for (; n > 0; --n) {
    auto plan = batches.next().plan;
    if (plan.what == batch_plan::kind::end)
      return;
    plan.end_of_epoch = ends.settle(plan, job.at);
    if (plan.what == batch_plan::kind::failed)
      throw error(*plan.failure);
    job.pass(plan);
    if (plan.end_of_epoch)
      ends.begin_epoch();
    batches.begin_epoch(job.at.next.epoch); // ranks may have agreed that it is over
  }
}

} // namespace

void check_seek(const rank_job& job, const job_position& to) {
  if (job.plan->shape.is_endless() && to.epoch != 0)
    refuse_seek(to, "epoch 0: it has no end");
  (void)batches_before(job.plan->shape, to);
}

void seek(rank_job& job, const job_position& to, epoch_end_agreement& ends,
          const prepare_caller& prepare) {
  check_seek(job, to);
  const auto& shape = job.plan->shape;
  job.at.next = shape.is_indexed ? to : job_position{to.epoch, 0};
  job.at.global_step = shape.is_indexed ? batches_before(shape, to) : 0;
  job.at.lanes = nullptr;
  ends.begin_epoch();
  if (!shape.is_indexed)
    run_through(job, to.step, ends, prepare);
  if (job.at.next != to)
    refuse_seek(to, "a step that the epoch has");
  job.at.began = job.at.global_step;
  job.at.sums = {};
  job.bad_log.cut(to.epoch, to.step, job.rank, job.world_size);
}

void skip_batches(rank_job& job, std::uint64_t n, epoch_end_agreement& ends,
                  const prepare_caller& prepare) {
  const auto& shape = job.plan->shape;
  auto& at = job.at;
  n = std::min(n, job.steps - std::min(job.steps, at.global_step));
  if (!shape.is_indexed)
    return run_through(job, n, ends, prepare);
  if (!shape.is_endless())
    n = std::min(n, job.batches_left());
  std::uint64_t step = 0;
  std::uint64_t global_step = 0;
  if (__builtin_add_overflow(at.next.step, n, &step)
      || __builtin_add_overflow(at.global_step, n, &global_step))
    refuse_argument("skip_first_batches", std::to_string(n) + " batches",
                    "a job whose end can be counted to");
  at.global_step = global_step;
  if (shape.is_endless()) {
    at.next.step = step;
    return;
  }
  const auto batches = shape.batches();
  if (step >= batches)
    at.sums.epoch_digest = {};
  at.next = {at.next.epoch + step / batches, step % batches};
}

} // namespace leat
