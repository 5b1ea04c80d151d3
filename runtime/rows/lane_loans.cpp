#include "runtime/rows/lane_loans.hpp"

#include "runtime/sample/live_source.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// A probe ends after half as many items as a batch has rows, if their samples will have so many
/// bytes: all workers are to have some.
constexpr std::size_t probe_bytes = std::size_t{256} << 10;

void begin_lane(rank_lane& x, std::uint64_t epoch) {
  x.round().begin({epoch, 0});
  x.round().make_stale();
}

} // namespace

bool lane_loans::waits_for_feed() const noexcept {
  return std::any_of(places_.begin(), places_.end(),
                     [](const place& x) { return x.lane->feed() != nullptr; });
}

bool lane_loans::any_is_stale() const noexcept {
  return std::any_of(places_.begin(), places_.end(),
                     [](const place& x) { return x.lane->round().is_stale(); });
}

void lane_loans::begin(std::uint64_t epoch) {
  epoch_ = epoch;
  for (auto& x : places_)
    if (x.is_lent)
      x.begins = true;
    else
      begin_lane(*x.lane, epoch);
}

void lane_loans::run_ahead(std::size_t items) {
  for (auto& x : places_)
    x.lane->round().run_ahead(items);
  enough_ = std::max(enough_, items / 2);
}

bool lane_loans::run(call_record& calls) {
  auto left = rank_lane::items_in_one_go;
  for (auto& x : places_)
    if (left > 0 && x.lane->round().is_stale()) {
      left = x.lane->run(left, calls);
      if (x.lane->feed()) // asked for again when the batch is
        x.lane->round().make_stale();
    }
  return left > 0;
}

bool lane_loans::open_probe(planned_batch& probe, std::size_t most) {
  probe.rows = 0;
  std::size_t bytes = 0;
  const std::size_t least = std::max<std::size_t>(1, per_batch_ * places_.size() / 2);
  const auto is_full = [&] {
    return probe.rows >= most || (probe.rows >= least && bytes >= probe_bytes);
  };
  for (std::size_t i = 0; i < places_.size() && !is_full(); ++i) {
    auto& x = places_[next_probed_];
    while (!x.is_lent && !is_full()) {
      if (!x.lane->take_request(probe.add())) {
        --probe.rows;
        break;
      }
      bytes += std::min(x.lane->usual_bytes(), probe_bytes);
    }
    if (!is_full())
      next_probed_ = (next_probed_ + 1) % places_.size();
  }
  if (probe.rows == 0)
    return false;
  probe.plan = {.what = batch_plan::kind::probe};
  return true;
}

void lane_loans::close_probe(batch_slot& slot) {
  for (std::size_t i = 0; i < slot.num_rows(); ++i) {
    const auto& asked = slot.request(i);
    auto& found = slot.result(i);
    if (auto& x = place_at(asked.position); x.is_lent)
      x.found.emplace_back(asked, std::move(found));
    else
      x.lane->put(asked, found);
  }
}

bool lane_loans::open_turns(planned_batch& turns, std::size_t workers) {
  turns.rows = 0;
  const bool probe_there = places_.size() >= workers;
  for (auto& x : places_) {
    if (x.is_lent || !x.lane->wants_to_run(probe_there)
        || x.lane->round().items().size() >= enough_)
      continue;
    auto& row = turns.add();
    row.epoch = 0;
    row.position = x.lane->round().lane();
    row.lane = x.lane;
    row.probes = probe_there;
    x.is_lent = true;
    x.wakes = wakes_;
    ++lent_;
  }
  if (turns.rows == 0)
    return false;
  turns.plan = {.what = batch_plan::kind::turns};
  return true;
}

void lane_loans::close_turns(batch_slot& slot) {
  for (std::size_t i = 0; i < slot.num_rows(); ++i) {
    auto& x = place_at(slot.request(i).position);
    x.is_lent = false;
    --lent_;
    if (const auto& failure = slot.result(i).failure)
      x.lane->fail(*failure);
    for (auto& [asked, found] : x.found)
      x.lane->put(asked, found);
    x.found.clear();
    if (std::exchange(x.begins, false))
      begin_lane(*x.lane, epoch_);
    if (x.lane->feed() && x.wakes != wakes_) // the record came after the lane had asked for it
      x.lane->round().make_stale();
  }
}

void lane_loans::wake() {
  ++wakes_;
  for (auto& x : places_)
    if (!x.is_lent && x.lane->feed())
      x.lane->round().make_stale();
}

bool lane_loans::wait_for_feed(const std::atomic<bool>& stop) {
  // The last one: what others lack has mostly come before.
  const auto x = std::find_if(places_.rbegin(), places_.rend(),
                              [](const place& at) { return at.lane->feed(); });
  if (x == places_.rend())
    return false;
  x->lane->feed()->wait(x->lane->record(), stop);
  return true;
}

} // namespace leat
