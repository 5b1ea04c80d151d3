#include "runtime/rows/iterator_order.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace leat {

namespace {

/// How far ahead iterators run so that ranks rarely have to agree on an epoch's end: so many
/// batches cost them one all-gather.
constexpr std::size_t batches_ahead = 64;
/// Lanes that are lent run as far ahead as if batches took half as many of each, if they take
/// fewer: turns for less would cost more than they do.
constexpr std::size_t items_a_turn = 101;
/// The most items of a rank that wait for these: about 4 MB.
constexpr std::size_t items_ahead = 1 << 14;

/// Items of a lane whose content is looked at ahead, however few a batch takes: each probe, or
/// turn, costs messages.
constexpr std::size_t least_window = 32;

/// In all lanes, samples of so many bytes are kept with such items, or those of two batches.
constexpr std::size_t kept_bytes = std::size_t{8} << 20;

/// Two batches, and the end of an epoch: what is found early has left the caches when it is needed.
/// Several ranks agree less often if they know of a few batches more.
std::size_t least_ahead(std::uint64_t world_size, std::size_t items_per_lane) {
  return (world_size == 1 ? 2 : 4) * items_per_lane + 1;
}

/// One rank needs to know of one more batch, and so do several of an epoch without end. Where
/// content is probed, samples would be held with the items, and what exists once is not read early.
std::size_t most_ahead(const sample_graph& plan, const epoch_geometry& shape,
                       std::uint64_t world_size, std::size_t items_per_lane, bool lends_lanes) {
  auto most = least_ahead(world_size, items_per_lane);
  if (!plan.feeds.empty())
    return most;
  const auto lanes = std::max<std::uint64_t>(1, shape.lanes / world_size);
  if (lends_lanes)
    most = std::max(most, std::min<std::size_t>(items_a_turn, items_ahead / lanes));
  if (world_size == 1 || shape.is_endless() || !plan.edges.empty())
    return most;
  return std::max(most,
                  std::min<std::size_t>(batches_ahead * items_per_lane + 1, items_ahead / lanes));
}

/// A lane's place in a snapshot must be one that `step` batches, each with `items` items of every
/// lane, lead to.
void check_place(const round_mark& x, const job_position& at, std::uint64_t items,
                 const epoch_geometry& shape, bool counts_steps) {
  std::uint64_t taken = 0;
  const bool overflows = __builtin_mul_overflow(at.step, items, &taken);
  const auto place = std::to_string(x.consumed) + " items consumed in epoch "
                     + std::to_string(x.when.epoch) + ", pass "
                     + std::to_string(static_cast<std::uint64_t>(x.when.pass));
  const auto all = std::to_string(taken) + " before step " + std::to_string(at.step);
  if (overflows || taken > std::uint64_t{1} << 62)
    refuse_state("step " + std::to_string(at.step), "one that can be counted to");
  const bool has_before = shape.is_endless() && counts_steps;
  if (has_before ? x.before > taken || x.consumed != taken - x.before || x.before < x.when.epoch
                       || (x.when.epoch == 0 && x.before != 0)
                 : x.before != 0)
    refuse_state(place + ", and " + std::to_string(x.before) + " in earlier ones",
                 has_before ? "the " + all : "none: they are not counted");
  if (shape.is_endless()) { // each epoch has given at least one item
    if (x.when.pass != 0 || x.consumed == 0 || x.when.epoch >= taken
        || x.consumed > taken - x.when.epoch)
      refuse_state(place, "pass 0, and no more in all than the " + all);
    return;
  }
  if (x.when != lap{at.epoch, 0} || x.consumed > taken
      || (shape.end == epoch_end::drop && x.consumed != taken))
    refuse_state(place, (shape.end == epoch_end::drop ? "the " : "at most the ") + all
                            + " of epoch " + std::to_string(at.epoch));
}

} // namespace

iterator_order::iterator_order(std::shared_ptr<const sample_graph> plan,
                               const epoch_geometry& shape, std::uint64_t rank,
                               std::uint64_t world_size, std::uint64_t epochs,
                               const iterator_start& start)
    : plan_(std::move(plan)), shape_(shape), world_size_(world_size), epochs_(epochs),
      items_per_lane_(shape.batch_rows / shape.lanes),
      ahead_(least_ahead(world_size, items_per_lane_)),
      most_ahead_(most_ahead(*plan_, shape, world_size, items_per_lane_, start.lends_lanes)),
      next_(start.at),
      around_(std::make_shared<const lane_surroundings>(lane_surroundings{
          plan_, start.changes, start.calls ? start.calls : std::make_shared<call_record>(),
          start.threads_ahead > 0 ? std::make_unique<ahead_threads>(start.threads_ahead)
                                  : nullptr})),
      lanes_(items_per_lane_, ahead_, shape.lanes, world_size), lends_lanes_(start.lends_lanes) {
  const round_limits limits{
      .window = std::max<std::size_t>(2, 2 * items_per_lane_),
      .wide_window = std::max<std::size_t>(8 * items_per_lane_, least_window),
      .kept_bytes = kept_bytes / std::max<std::size_t>(1, shape.lanes / world_size),
      .ahead = ahead_,
      .epochs = shape.is_endless() ? UINT64_MAX : epochs,
      .is_endless = shape.is_endless(),
      .items_per_step = start.items_per_step == 0 ? items_per_lane_ : start.items_per_step};
  for (auto lane = rank; lane < shape.lanes; lane += world_size) {
    const auto x = std::make_shared<rank_lane>(around_, lane, shape.lanes, limits);
    lanes_.add(x);
    auto& round = x->round();
    if (start.lanes.empty()) {
      round.begin({start.at.epoch, 0});
      continue;
    }
    const auto state = std::find_if(start.lanes.begin(), start.lanes.end(),
                                    [&](const lane_state& s) { return s.lane == lane; });
    if (state == start.lanes.end())
      throw_error(errc::bad_snapshot, "restore", "no state of lane " + std::to_string(lane),
                  "the parts of all ranks of the snapshot");
    check_place(state->mark, start.at, items_per_lane_, shape, plan_->counts_steps());
    round.load(*state);
  }
}

bool iterator_order::open(planned_batch& batch) {
  batch.rows = 0;
  if (is_over()) {
    batch.plan = {.what = batch_plan::kind::end};
    return true;
  }
  if (lanes_.any_is_lent())
    return false;
  if (!lends_lanes_)
    wants_to_run_ = !lanes_.run(*around_->calls);
  const auto ahead = look_ahead(supplies_);
  batch_plan plan{.epoch = next_.epoch, .step = next_.step};
  const auto open_failed = [&](const error& problem) {
    plan.what = batch_plan::kind::failed;
    plan.failure = problem;
    batch.plan = std::move(plan);
    return true;
  };
  if (ahead.failed)
    return open_failed(*lanes_.round(*ahead.failed).failure());
  if (!ahead.is_known)
    return false;
  const bool exists = ahead.batches > 0;
  if (!exists && world_size_ == 1 && next_.step > 0) {
    begin_epoch(next_.epoch + 1); // the data ended where the job was resumed
    return open(batch);
  }
  if (!exists && world_size_ == 1) {
    std::vector<std::string> files;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      lanes_.round(i).add_files(files);
    return open_failed(
        error(errc::empty_epoch, {.stage = "batch",
                                  .file = first_of(files),
                                  .got = "no batch in epoch " + std::to_string(next_.epoch),
                                  .needed = "at least one"}));
  }
  const bool is_last = ahead.is_final && ahead.batches <= 1;
  plan.end_of_epoch = world_size_ == 1 && is_last;
  plan.horizon = horizon_of(ahead);
  if (exists)
    fill(batch);
  plan.lanes = states();
  batch.plan = std::move(plan);
  advance(is_last);
  return true;
}

std::shared_ptr<const lane_states> iterator_order::states() const {
  auto states = std::make_shared<lane_states>();
  states->reserve(lanes_.size());
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    states->push_back(lanes_.round(i).state());
  return states;
}

/// Little by little: the first batch does not wait for items of many later ones.
void iterator_order::run_further() {
  if (ahead_ == most_ahead_)
    return;
  ahead_ = std::min(most_ahead_, ahead_ + items_per_lane_);
  lanes_.run_ahead(ahead_);
}

void iterator_order::advance(bool is_last) {
  ++next_.step;
  run_further();
  // Under mask other ranks may have more: this one continues with empty batches until it hears of
  // the end.
  if (is_last && (world_size_ == 1 || shape_.end == epoch_end::drop))
    begin_epoch(next_.epoch + 1);
}

void iterator_order::begin_epoch(std::uint64_t epoch) {
  if (next_.epoch >= epoch)
    return;
  next_ = {epoch, 0};
  lanes_.begin(epoch);
}

epoch_outlook iterator_order::look_ahead(std::vector<lane_supply>& lanes) const {
  lanes.clear();
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    lanes.push_back(shape_.is_endless() ? supply_of(lanes_.round(i), items_per_lane_)
                                        : supply_of(lanes_.round(i)));
  // A lane that is still to run may have met a failure that comes first.
  const bool have_run = !lends_lanes_ || !lanes_.any_is_stale();
  return leat::look_ahead(lanes, shape_.end, items_per_lane_, have_run && lanes_.waits_for_feed());
}

epoch_horizon iterator_order::horizon_of(const epoch_outlook& ahead) const {
  if (shape_.is_endless())
    return endless_horizon;
  if (ahead.batches > 0)
    return {next_.step + ahead.batches, ahead.is_final};
  // Under mask the rank's last rows may be in an earlier batch.
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    most = std::max(most, lanes_.round(i).taken({next_.epoch, 0}));
  return {most / items_per_lane_ + (most % items_per_lane_ != 0 ? 1 : 0), ahead.is_final};
}

epoch_horizon iterator_order::horizon() const {
  if (is_over())
    return {};
  std::vector<lane_supply> lanes;
  return horizon_of(look_ahead(lanes));
}

void iterator_order::fill(planned_batch& batch) {
  // Rows are ordered by position: the first item of every lane, then the second.
  item skipped;
  lap when;
  for (std::size_t i = 0; i < items_per_lane_; ++i)
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      auto& lane = lanes_.round(k);
      while (!lane.items().empty() && lane.items().front().is_end && shape_.is_endless())
        lane.take_front(skipped, when);
      if (lane.items().empty() || lane.items().front().is_end)
        continue;
      if (lane.items().front().is_blank) {
        lane.take_front(skipped, when);
        continue;
      }
      auto& row = batch.add();
      row.epoch = next_.epoch;
      row.position = lane.lane() + (next_.step * items_per_lane_ + i) * shape_.lanes;
      row.edge.reset();
      lane.take_front(row.what, row.when);
    }
}

bool iterator_order::open_turns(planned_batch& turns, std::size_t workers) {
  return lends_lanes_ && !is_over() && lanes_.open_turns(turns, workers);
}

} // namespace leat
