#include "runtime/rows/iterator_order.hpp"

#include "runtime/base/text.hpp"
#include "runtime/order/iterators/edge.hpp"
#include "runtime/sample/live_source.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace leat {

namespace {

/// How far ahead iterators run so that ranks rarely have to agree on an epoch's end: so many
/// batches cost them one all-gather.
constexpr std::size_t batches_ahead = 64;
/// The most items of a rank that wait for this: about 4 MB.
constexpr std::size_t items_ahead = 1 << 14;

/// Items of a lane whose content is looked at ahead, however few a batch takes: with each probe,
/// workers and iterators wake each other.
constexpr std::size_t least_window = 32;

/// In all lanes, samples of so many bytes are kept with such items, or those of two batches.
constexpr std::size_t kept_bytes = std::size_t{8} << 20;

/// A probe ends after half as many items as a batch has rows, if their samples will have so many
/// bytes: all workers are to have some.
constexpr std::size_t probe_bytes = std::size_t{256} << 10;

/// Two batches, and the end of an epoch: what is found early has left the caches when it is needed.
/// Several ranks agree less often if they know of a few batches more.
std::size_t least_ahead(std::uint64_t world_size, std::size_t items_per_lane) {
  return (world_size == 1 ? 2 : 4) * items_per_lane + 1;
}

/// One rank needs to know of one more batch, and so do several of an epoch without end. Where
/// content is probed, or exists once, samples would be held with the items.
std::size_t most_ahead(const sample_graph& plan, const epoch_geometry& shape,
                       std::uint64_t world_size, std::size_t items_per_lane) {
  const auto least = least_ahead(world_size, items_per_lane);
  if (world_size == 1 || shape.is_endless() || !plan.edges.empty() || !plan.feeds.empty())
    return least;
  const auto lanes = std::max<std::uint64_t>(1, shape.lanes / world_size);
  return std::max(least,
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
      most_ahead_(most_ahead(*plan_, shape, world_size, items_per_lane_)), next_(start.at),
      around_(std::make_shared<const lane_surroundings>(lane_surroundings{
          plan_, start.changes, start.calls ? start.calls : std::make_shared<call_record>(),
          start.threads_ahead > 0 ? std::make_unique<ahead_threads>(start.threads_ahead)
                                  : nullptr})),
      lends_lanes_(start.lends_lanes) {
  const round_limits limits{
      .window = std::max<std::size_t>(2, 2 * items_per_lane_),
      .wide_window = std::max<std::size_t>(8 * items_per_lane_, least_window),
      .kept_bytes = kept_bytes / std::max<std::size_t>(1, shape.lanes / world_size),
      .ahead = ahead_,
      .epochs = shape.is_endless() ? UINT64_MAX : epochs,
      .is_endless = shape.is_endless(),
      .items_per_step = start.items_per_step == 0 ? items_per_lane_ : start.items_per_step};
  for (auto lane = rank; lane < shape.lanes; lane += world_size) {
    auto& x = lanes_.emplace_back(
        lane_place{std::make_shared<rank_lane>(around_, lane, shape.lanes, limits)});
    auto& round = x.lane->round();
    if (start.lanes.empty()) {
      round.begin({start.at.epoch, 0});
      continue;
    }
    const auto state = std::find_if(start.lanes.begin(), start.lanes.end(),
                                    [&](const lane_state& s) { return s.lane == lane; });
    if (state == start.lanes.end())
      throw error(errc::bad_snapshot, {.stage = "restore",
                                       .got = "no state of lane " + std::to_string(lane),
                                       .needed = "the parts of all ranks of the snapshot"});
    check_place(state->mark, start.at, items_per_lane_, shape, plan_->counts_steps());
    round.load(*state);
  }
}

void iterator_order::run() {
  auto left = rank_lane::items_in_one_go;
  for (auto& x : lanes_)
    if (left > 0 && x.lane->round().is_stale()) {
      left = x.lane->run(left, *around_->calls);
      if (x.lane->feed()) // asked for again when the batch is
        x.lane->round().make_stale();
    }
  wants_to_run_ = left <= 0;
}

bool iterator_order::waits_for_feed() const noexcept {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const lane_place& x) { return x.lane->feed() != nullptr; });
}

iterator_order::lane_place& iterator_order::place_at(std::uint64_t position) {
  const auto lane = position % shape_.lanes;
  return lanes_[(lane - lanes_.front().lane->round().lane()) / world_size_];
}

bool iterator_order::open(planned_batch& batch) {
  batch.rows = 0;
  if (!shape_.is_endless() && next_.epoch >= epochs_) {
    batch.plan = {.what = batch_plan::kind::end};
    return true;
  }
  if (lent_ > 0)
    return false;
  if (!lends_lanes_)
    run();
  const auto ahead = look_ahead(supplies_);
  batch_plan plan{.epoch = next_.epoch, .step = next_.step};
  const auto open_failed = [&](const error& problem) {
    plan.what = batch_plan::kind::failed;
    plan.failure = problem;
    batch.plan = std::move(plan);
    return true;
  };
  if (ahead.failed)
    return open_failed(*lanes_[*ahead.failed].lane->round().failure());
  if (!ahead.is_known)
    return false;
  const bool exists = ahead.batches > 0;
  if (!exists && world_size_ == 1 && next_.step > 0) {
    begin_epoch(next_.epoch + 1); // the data ended where the job was resumed
    return open(batch);
  }
  if (!exists && world_size_ == 1) {
    std::vector<std::string> files;
    for (const auto& x : lanes_)
      x.lane->round().add_files(files);
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
  for (const auto& x : lanes_)
    states->push_back(x.lane->round().state());
  return states;
}

/// Little by little: the first batch does not wait for items of many later ones.
void iterator_order::run_further() {
  if (ahead_ == most_ahead_)
    return;
  ahead_ = std::min(most_ahead_, ahead_ + items_per_lane_);
  for (auto& x : lanes_)
    x.lane->round().run_ahead(ahead_);
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
  for (auto& x : lanes_)
    if (x.is_lent)
      x.begins = true;
    else
      begin_lane(*x.lane);
}

void iterator_order::begin_lane(rank_lane& x) const {
  x.round().begin({next_.epoch, 0});
  x.round().make_stale();
}

epoch_outlook iterator_order::look_ahead(std::vector<lane_supply>& lanes) const {
  lanes.clear();
  for (const auto& x : lanes_)
    lanes.push_back(shape_.is_endless() ? supply_of(x.lane->round(), items_per_lane_)
                                        : supply_of(x.lane->round()));
  return leat::look_ahead(lanes, shape_.end, items_per_lane_, waits_for_feed());
}

epoch_horizon iterator_order::horizon_of(const epoch_outlook& ahead) const {
  if (shape_.is_endless())
    return endless_horizon;
  if (ahead.batches > 0)
    return {next_.step + ahead.batches, ahead.is_final};
  // Under mask the rank's last rows may be in an earlier batch.
  std::uint64_t most = 0;
  for (const auto& x : lanes_)
    most = std::max(most, x.lane->round().taken({next_.epoch, 0}));
  return {most / items_per_lane_ + (most % items_per_lane_ != 0 ? 1 : 0), ahead.is_final};
}

epoch_horizon iterator_order::horizon() const {
  if (!shape_.is_endless() && next_.epoch >= epochs_)
    return {};
  std::vector<lane_supply> lanes;
  return horizon_of(look_ahead(lanes));
}

void iterator_order::fill(planned_batch& batch) {
  // Rows are ordered by position: the first item of every lane, then the second.
  item skipped;
  lap when;
  for (std::size_t i = 0; i < items_per_lane_; ++i)
    for (auto& x : lanes_) {
      auto& lane = x.lane->round();
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

bool iterator_order::open_probe(planned_batch& probe, std::size_t most) {
  probe.rows = 0;
  std::size_t bytes = 0;
  const std::size_t least = std::max<std::size_t>(1, items_per_lane_ * lanes_.size() / 2);
  const auto is_full = [&] {
    return probe.rows >= most || (probe.rows >= least && bytes >= probe_bytes);
  };
  for (std::size_t i = 0; i < lanes_.size() && !is_full(); ++i) {
    auto& x = lanes_[next_probed_];
    while (!x.is_lent && !is_full()) {
      if (!x.lane->take_request(probe.add())) {
        --probe.rows;
        break;
      }
      bytes += std::min(x.lane->usual_bytes(), probe_bytes);
    }
    if (!is_full())
      next_probed_ = (next_probed_ + 1) % lanes_.size();
  }
  if (probe.rows == 0)
    return false;
  probe.plan = {.what = batch_plan::kind::probe};
  return true;
}

void iterator_order::close_probe(batch_slot& slot) {
  for (std::size_t i = 0; i < slot.num_rows(); ++i)
    place_at(slot.request(i).position).lane->put(slot.request(i), slot.result(i));
}

bool iterator_order::open_turns(planned_batch& turns, std::size_t workers) {
  turns.rows = 0;
  const bool is_over = !shape_.is_endless() && next_.epoch >= epochs_;
  if (!lends_lanes_ || is_over)
    return false;
  for (auto& x : lanes_) {
    if (x.is_lent || x.waits || !x.lane->round().is_stale())
      continue;
    auto& row = turns.add();
    row.epoch = next_.epoch;
    row.position = x.lane->round().lane();
    row.lane = x.lane;
    row.probes = lanes_.size() >= workers;
    x.is_lent = true;
    x.wakes = wakes_;
    ++lent_;
  }
  if (turns.rows == 0)
    return false;
  turns.plan = {.what = batch_plan::kind::turns};
  return true;
}

void iterator_order::close_turns(batch_slot& slot) {
  for (std::size_t i = 0; i < slot.num_rows(); ++i) {
    auto& x = place_at(slot.request(i).position);
    auto& round = x.lane->round();
    x.is_lent = false;
    --lent_;
    if (const auto& failure = slot.result(i).failure)
      round.fail(*failure);
    if (std::exchange(x.begins, false))
      begin_lane(*x.lane);
    x.waits = x.lane->feed() && x.wakes == wakes_;
    if (x.lane->feed() && !x.waits) // the record came after the lane had asked for it
      round.make_stale();
  }
}

void iterator_order::wake() {
  ++wakes_;
  for (auto& x : lanes_)
    if (std::exchange(x.waits, false))
      x.lane->round().make_stale();
}

bool iterator_order::wait_for_feed(const std::atomic<bool>& stop) {
  // The last one: what others lack has mostly come before.
  const auto x = std::find_if(lanes_.rbegin(), lanes_.rend(),
                              [](const lane_place& place) { return place.lane->feed(); });
  if (x == lanes_.rend())
    return false;
  x->lane->feed()->wait(x->lane->record(), stop);
  return true;
}

} // namespace leat
