#include "runtime/rows/rank_lane.hpp"

#include <utility>

namespace leat {

namespace {

round_limits completed(round_limits x, const lane_surroundings& of, iterator_run& run,
                       std::deque<probe_request>& requests) {
  x.changes = &of.changes;
  x.run = &run;
  x.requests = &requests;
  return x;
}

} // namespace

rank_lane::rank_lane(std::shared_ptr<const lane_surroundings> of, std::uint64_t lane,
                     std::uint64_t lanes, round_limits limits)
    : of_(std::move(of)), lanes_(lanes),
      round_(*of_->plan, std::nullopt, lane, lanes, completed(limits, *of_, run_, requests_)) {
  run_.ahead = of_->ahead.get();
  // While a state is loaded, too.
  run_.calls = of_->calls.get();
  run_.budget = items_in_one_go;
}

std::int64_t rank_lane::run(std::int64_t items, call_record& calls) {
  run_.budget = items;
  run_.feed = nullptr;
  run_.calls = &calls;
  round_.run();
  run_.calls = of_->calls.get(); // that of a worker may not outlive the turn
  if (run_.budget <= 0)          // cut short
    round_.make_stale();
  return run_.budget;
}

bool rank_lane::take_request(row_request& to) {
  while (!requests_.empty()) {
    const auto request = requests_.front();
    requests_.pop_front();
    const auto* x = request.round->deal(request.when, request.number);
    if (!x)
      continue; // dropped unread
    to.epoch = 0;
    to.position = round_.lane() + request.number * lanes_;
    to.edge = request.edge;
    to.what = x->what;
    to.when = request.when;
    usual_bytes_ = request.round->usual_bytes();
    return true;
  }
  return false;
}

void rank_lane::put(const row_request& asked, row_result& found) {
  auto& round = *round_.find_round(*asked.edge);
  auto* x = round.find(asked.when, asked.position / lanes_);
  if (!x)
    return; // dropped unread
  x->state = round_item::phase::done;
  round_.make_stale();
  if (found.failure)
    x->failure = std::make_shared<const error>(*found.failure);
  swap(x->found, found.seen.found);
  round.note_kept(found.seen.bytes);
  if (found.seen.made)
    x->what.attach(0, static_cast<std::uint32_t>(*asked.edge), std::move(found.seen.made));
}

const row_request* rank_lane::begin_probe() {
  has_begun_probe_ = has_begun_probe_ || take_request(probed_);
  return has_begun_probe_ ? &probed_ : nullptr;
}

void rank_lane::end_probe(row_result& found) {
  put(probed_, found);
  has_begun_probe_ = false;
}

void rank_lane::fail(const error& problem) {
  if (!has_begun_probe_)
    return round_.fail(problem);
  row_result nothing;
  nothing.failure = problem;
  end_probe(nothing);
}

} // namespace leat
