#include "runtime/job/rank_job.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/worker_record.hpp"
#include "runtime/rows/expecting_order.hpp"
#include "runtime/rows/indexed_order.hpp"
#include "runtime/rows/iterator_order.hpp"
#include "runtime/rows/row_id.hpp"
#include "runtime/sample/live_source.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Which records the job's feeds have served; empty if there is no need to know.
std::vector<hash128> streams_of(const std::vector<std::shared_ptr<live_source>>& feeds) {
  std::vector<hash128> all;
  bool is_known = false;
  for (const auto& x : feeds) {
    all.push_back(x->stream());
    is_known = is_known || all.back() != hash128{};
  }
  return is_known ? all : std::vector<hash128>{};
}

lane_states lanes_of(const job_progress& x) {
  return x.lanes ? *x.lanes : lane_states{};
}

} // namespace

std::size_t rank_job::rows_per_batch() const noexcept {
  return (plan->shape.batch_rows + world_size - 1) / world_size;
}

std::uint64_t rank_job::batches_left() const noexcept {
  if (at.next.epoch >= epochs)
    return 0;
  std::uint64_t all = 0;
  if (__builtin_mul_overflow(epochs - at.next.epoch, plan->shape.batches(), &all))
    return UINT64_MAX;
  return all - at.next.step;
}

/// Learned alike on all ranks: from where the job began, or was restored.
void rank_job::learn_fields(const doing& told) {
  auto learned = *plan;
  if (!fields.known.empty())
    learned.layout = std::make_shared<const batch_layout>(fields.known);
  else if (at.next.epoch < epochs)
    learned.layout = layout_after(learned, {fields.learn_at, fields.learn_lanes}, told);
  else // the job is over
    learned.layout = std::make_shared<const batch_layout>();
  plan = std::make_shared<const job_plan>(std::move(learned));
  fields.learn_lanes = {};
}

resume_point rank_job::position() const {
  return {at.next.epoch, at.next.step, at.global_step, at.sums.digest};
}

std::unique_ptr<batch_order> rank_job::make_order(const std::shared_ptr<call_record>& calls) const {
  if (plan->shape.is_indexed) {
    const auto make = [&] {
      return std::make_unique<indexed_order>(plan->shape, rank, world_size, epochs, at.next);
    };
    return std::make_unique<expecting_order>(make(), plan, make());
  }
  auto order =
      std::make_unique<iterator_order>(plan->samples, plan->shape, rank, world_size, epochs,
                                       iterator_start{.at = at.next,
                                                      .lanes = lanes_of(at),
                                                      .calls = calls,
                                                      .changes = weights.all(),
                                                      .threads_ahead = threads_ahead,
                                                      .lends_lanes = !calls});
  return std::make_unique<expecting_order>(std::move(order), plan, nullptr);
}

void rank_job::pass(const batch_plan& x) {
  at.pass(x);
  if (at.lanes && !can_snapshot())
    records->passed(*at.lanes);
}

void rank_job::hand_over(const batch_slot& x) {
  // First: a batch that cannot be logged is not handed over.
  bad_log.append(x.plan().epoch, x.plan().step, rank, x.summary().bad);
  pass(x.plan());
  at.count(x);
}

void rank_job::rewind() {
  if (!plan->samples->feeds.empty())
    refuse_argument("rewind", "records that exist once", "data that can be read again");
  bad_log.cut(0, 0, rank, world_size);
  at = {};
}

bool rank_job::abandon_epoch() {
  if (plan->shape.is_endless())
    refuse_argument("abandon_epoch", "a pipeline of one endless epoch",
                    "batch() with end drop or mask");
  if (at.next.step == 0)
    return false; // none of it was handed over: the epoch before has ended
  at.next = {at.next.epoch + 1, 0};
  at.lanes = nullptr;
  return true;
}

bool rank_job::change_weights(const weight_change& x, bool is_under_way) {
  const auto inputs = inputs_to_weigh("set_weights", *plan->samples, plan->shape);
  if (x.weights.size() != inputs)
    refuse_argument("set_weights", std::to_string(x.weights.size()) + " weights",
                    std::to_string(inputs) + ", one per input of the mix");
  if (is_under_way && !plan->samples->feeds.empty())
    refuse_argument("set_weights", "records that exist once, in a loader that has begun",
                    "a call before the first next()");
  return weights.add({x.step, whole_weights(x.weights)}, at.global_step);
}

bool rank_job::can_snapshot() const noexcept {
  const auto& feeds = plan->samples->feeds;
  return std::all_of(feeds.begin(), feeds.end(), [](const auto& x) { return x->has_journal(); });
}

snapshot rank_job::make_snapshot(pipeline_facts of, const job_progress& x,
                                 lane_states lanes) const {
  if (!can_snapshot())
    refuse_argument("snapshot", "records that exist once and are not kept",
                    "a journal: the pipeline's operator journal, or that of its feed");
  return {std::move(of),
          x.next.epoch,
          x.next.step,
          x.global_step,
          rank,
          world_size,
          x.sums,
          x.began,
          std::move(lanes),
          left_out.ranges(),
          records->has_feeds() && plan->layout ? plan->layout->fields() : fields.known,
          weights.all(),
          streams_of(plan->samples->feeds)};
}

snapshot rank_job::snapshot_at(const job_progress& x) const {
  return make_snapshot(facts, x, lanes_of(x));
}

std::string rank_job::encoded_at(const job_progress& x, const weight_phases& changes) const {
  static const lane_states none;
  auto part = make_snapshot({}, x, {});
  part.weights = changes;
  return encode(part, x.lanes ? *x.lanes : none);
}

rank_job as_restored(const rank_job& job) {
  auto result = job;
  if (job.at.lanes)
    result.at.lanes = std::make_shared<const lane_states>(
        decode(job.encoded_at(job.at), "the job's own state").lanes);
  return result;
}

attempt_start rank_job::attempt() const {
  attempt_start start{.world_size = world_size,
                      .rank = rank,
                      .records = plan->shape.is_indexed ? plan->shape.items : 0,
                      .data_digest = data_digest};
  if (at.is_resumed || at.next != job_position{}) // also after a seek
    start.resumed_at = at.next;
  return start;
}

std::string rank_job::id_of(const batch_slot& slot, std::size_t row) const {
  std::string id;
  order_cache orders{plan->samples->num_shuffles};
  append_id(slot.request(row), slot.result(row).delivered, *plan->samples, plan->shape.lanes,
            orders, id);
  return id;
}

} // namespace leat
