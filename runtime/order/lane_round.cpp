#include "runtime/order/lane_round.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/order/lane_message.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// A base is taken after this many items; if the state is large, about as often as a whole buffer
/// changes.
constexpr std::uint64_t least_work_for_base = 64;

/// The most items of a lap that are consumed before it has a base. The first base of a lap is due
/// when the base before it says so (see `work_after`), which belongs to an earlier lap and is in no
/// snapshot; but no state is large enough to say this many.
constexpr std::uint64_t most_without_base = std::uint64_t{1} << 24;

std::uint64_t work_after(const lane_base& x) {
  return std::max<std::uint64_t>(least_work_for_base, x.state.size() / 8);
}

/// From a base too far back, a restore would repeat a long stretch; from one ahead, items would be
/// lost.
void check_distance(const round_mark& x) {
  const auto given = x.base ? x.base->given : 0;
  const auto most = x.base ? work_after(*x.base) : most_without_base;
  if (x.consumed < given || x.consumed - given > most)
    refuse_state(std::to_string(x.consumed) + " items consumed, and a state at item "
                     + std::to_string(given),
                 "one at most " + std::to_string(most) + " items before");
}

/// Orders items by lap and number.
bool before(const lap& a, std::uint64_t i, const lap& b, std::uint64_t k) noexcept {
  return a != b ? a < b : i < k;
}

} // namespace

lane_round::lane_round(const sample_graph& plan, std::optional<std::size_t> edge,
                       std::uint64_t lane, std::uint64_t lanes, const round_limits& limits)
    : plan_(plan), edge_(edge),
      limits_(limits), context_{.lane = lane, .lanes = lanes, .inputs = this, .run = limits.run},
      clock_{.items_per_step = limits.items_per_step, .changes = limits.changes},
      items_(edge ? limits.wide_window : limits.ahead),
      usual_bytes_(edge && plan.edges[*edge].keeps_samples ? unknown_bytes : 1),
      work_for_base_(least_work_for_base) {
  if (!edge)
    context_.clock = &clock_;
  for (const auto x : edge ? plan.edges[*edge].below : plan.last_edges)
    inputs_.push_back({std::make_unique<lane_round>(plan, x, lane, lanes, limits)});
}

const iterator_form& lane_round::form() const {
  return edge_ ? *plan_.edges[*edge_].input : *plan_.iterator;
}

void lane_round::add_files(std::vector<std::string>& to) const {
  form().add_files(context_.lane, context_.lanes, when_, to);
  for (const auto& x : inputs_)
    x.round->add_files(to);
}

void lane_round::begin(const lap& g) {
  while (!items_.empty() && items_.front().when < g) {
    with_content_ -= is_counted(items_.front()) ? 1 : 0;
    items_.pop();
  }
  if (skip_when_ < g) {
    skip_when_ = g;
    skip_below_ = 0;
  }
  if (taken_when_ < g) {
    taken_when_ = g;
    taken_ = taken_items_ = taken_before_ = 0;
  }
  if (!begun_ || when_ < g)
    start(g, 0);
}

void lane_round::start(const lap& g, std::uint64_t before) {
  begun_ = true;
  when_ = g;
  given_ = 0;
  clock_.items = before;
  failure_.reset(); // it belongs to a lap that is over
  iterator_ = form().begin(context_, g);
}

void lane_round::load(const round_mark& mark) {
  items_.clear();
  with_content_ = 0;
  bases_.clear();
  failure_.reset();
  skip_when_ = taken_when_ = mark.when;
  skip_below_ = taken_ = mark.consumed;
  taken_before_ = mark.before;
  taken_items_ = mark.before + mark.consumed;
  check_distance(mark);
  if (!mark.base)
    return start(mark.when, mark.before);
  const auto& base = *mark.base;
  start(base.when, mark.before);
  given_ = base.given;
  clock_.items += base.given;
  bases_.push_back(mark.base);
  item_reader reader{base.state};
  for (auto& x : inputs_)
    x.resumed = false;
  iterator_->load(reader);
  if (!reader.at_end())
    refuse_state("more bytes than the operators of the pipeline save", "a state of this pipeline");
  check_inputs(base);
  load_inputs(base);
}

void lane_round::load(const lane_state& state) {
  load(state.mark);
  used_ = state.used;
}

/// Each must be an input of this round, and occur once.
void lane_round::check_inputs(const lane_base& base) const {
  for (auto x = base.inputs.begin(); x != base.inputs.end(); ++x) {
    const auto is_same = [&](const auto& other) { return other.edge == x->edge; };
    const bool is_known = std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& input) {
      return input.round->edge() == x->edge;
    });
    if (!is_known || std::any_of(base.inputs.begin(), x, is_same))
      refuse_state("a state of edge " + std::to_string(x->edge) + (is_known ? " twice" : ""),
                   "one of each of the round's " + std::to_string(inputs_.size()) + " inputs");
  }
}

/// The iterator has said where it stands in each input; the base knows how to get there.
void lane_round::load_inputs(const lane_base& base) {
  for (auto& x : inputs_) {
    if (!x.resumed)
      continue;
    const auto found = std::find_if(base.inputs.begin(), base.inputs.end(),
                                    [&](const auto& in) { return in.edge == x.round->edge(); });
    if (found != base.inputs.end() && found->mark.when == x.when
        && found->mark.consumed == x.consumed)
      x.round->load(found->mark);
    else
      refuse_state("a round without the state of one below it", "a state of this pipeline");
  }
}

bool lane_round::run() {
  bool any = false;
  is_stale_ = false;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& x : inputs_)
      moved = (x.opened && x.round->run()) || moved;
    while (step())
      moved = true;
    any = any || moved;
  }
  return any;
}

lap lane_round::after(const lap& g) const {
  const pass_number last = edge_ ? plan_.edges[*edge_].last_pass : 0;
  return g.pass < last ? lap{g.epoch, g.pass + 1} : lap{g.epoch + 1, 0};
}

bool lane_round::step() {
  if (!begun_ || failure_ || is_full() || when_.epoch >= limits_.epochs || limits_.run->budget <= 0)
    return false;
  const auto work = work_;
  auto result = pulled::blocked;
  try {
    next_.clear();
    result = iterator_->pull(next_);
    if (result != pulled::blocked)
      keep(result);
  } catch (...) { // also from a user's function
    failure_ = error_in_flight(errc::io, {.stage = "iterators"});
    return false;
  }
  const bool moved = work_ != work;
  // Also in the middle of a search: otherwise a filter that passes few items would probe many of
  // them again.
  if (work_ >= work_for_base_)
    take_base(result == pulled::blocked);
  return moved;
}

void lane_round::keep(pulled result) {
  const bool is_end = result == pulled::end;
  const auto number = given_++;
  ++work_;
  limits_.run->may_go_on();
  if (!before(when_, number, skip_when_, skip_below_)) {
    auto& x = items_.push();
    x.when = when_;
    x.number = number;
    x.is_end = is_end;
    x.is_blank = result == pulled::blank;
    if (is_end)
      x.state = round_item::phase::done;
    swap(x.what, next_);
    with_content_ += is_counted(x) ? 1 : 0;
    if (edge_ && !is_end)
      limits_.requests->push_back({this, *edge_, when_, number});
  } else if (is_end && when_ == skip_when_ && number + (edge_ ? 1 : 0) < skip_below_) {
    // Only a round's consumer takes the end as well; a batch takes items.
    throw_error(errc::mismatch, "lane state",
                "data of lane " + std::to_string(context_.lane) + " that ends after "
                    + std::to_string(number) + " items",
                "the snapshot's data, of which " + std::to_string(skip_below_)
                    + " items were used");
  }
  if (!is_end) {
    ++clock_.items;
    return;
  }
  if (limits_.is_endless && !edge_ && number == 0)
    refuse_empty_lane();
  start(after(when_), limits_.is_endless ? clock_.items : 0);
}

/// Apart from `keep`, which is called for every item.
void lane_round::refuse_empty_lane() const {
  std::vector<std::string> files;
  add_files(files);
  throw_file_error(errc::empty_epoch, "batch", first_of(files),
                   "nothing from lane " + std::to_string(context_.lane) + " in its epoch "
                       + std::to_string(when_.epoch),
                   "at least one sample per epoch, to begin again: fewer lanes, so that "
                   "each has more files, or end=\"mask\" or \"drop\"");
}

void lane_round::take_front(item& what, lap& when) {
  auto& x = items_.front();
  with_content_ -= is_counted(x) ? 1 : 0;
  swap(what, x.what);
  for (const auto& use : what.uses())
    add(used_, use);
  if (x.when != taken_when_)
    taken_before_ = taken_items_;
  taken_items_ += x.is_end ? 0 : 1;
  when = taken_when_ = x.when;
  taken_ = x.number + 1;
  items_.pop();
  forget_bases(taken_when_, taken_);
  is_stale_ = true;
}

lane_state lane_round::state() const {
  auto mark = mark_at(taken_when_, taken_);
  if (plan_.counts_steps())
    mark.before = taken_before_;
  return {context_.lane, std::move(mark), used_};
}

round_mark lane_round::mark_at(const lap& g, std::uint64_t consumed) const {
  // Weights may be changed from the next item on, so nothing may have been decided for it.
  const auto is_decided = [&](const lane_base& x) {
    return !edge_ && x.is_within_item && x.given == consumed && plan_.counts_steps();
  };
  for (auto x = bases_.rbegin(); x != bases_.rend(); ++x)
    if ((*x)->when == g && (*x)->given <= consumed && !is_decided(**x))
      return {*x, g, consumed};
  return {nullptr, g, consumed};
}

round_item* lane_round::find(const lap& g, std::uint64_t number) {
  // Nearly always, all items belong to one lap, and their numbers are consecutive.
  if (!items_.empty() && items_.front().when == g) {
    const auto i = number - items_.front().number;
    return number >= items_.front().number && i < items_.size() && items_[i].when == g ? &items_[i]
                                                                                       : nullptr;
  }
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (items_[i].when == g && items_[i].number == number)
      return &items_[i];
  return nullptr;
}

round_item* lane_round::deal(const lap& g, std::uint64_t number) {
  auto* x = find(g, number);
  if (!x || x->state != round_item::phase::waiting)
    return nullptr;
  x->state = round_item::phase::dealt;
  return x;
}

/// Only a forged state asks for items after the end.
void lane_round::refuse_not_there(const lap& g, std::uint64_t number) const {
  refuse_state("item " + std::to_string(number) + " of epoch " + std::to_string(g.epoch)
                   + " to resume with",
               "one before the end of the input");
}

pulled lane_round::consume(const lap& g, std::uint64_t number, item& into, probe_result& found) {
  if (items_.empty()) {
    if (failure_)
      throw error(*failure_);
    if (when_ != g)
      refuse_not_there(g, number);
    return pulled::blocked;
  }
  auto& x = items_.front();
  if (x.when != g || x.number != number)
    refuse_not_there(g, number);
  if (x.state != round_item::phase::done)
    return pulled::blocked;
  if (x.failure)
    throw error(*x.failure);
  const bool is_end = x.is_end;
  into.append(std::move(x.what));
  swap(found, x.found);
  items_.pop();
  forget_bases(g, number + 1);
  return is_end ? pulled::end : pulled::item;
}

lane_round::input& lane_round::input_of(std::size_t edge) {
  return *std::find_if(inputs_.begin(), inputs_.end(),
                       [&](const input& x) { return x.round->edge() == edge; });
}

lane_round* lane_round::find_round(std::size_t edge) noexcept {
  if (edge_ == edge)
    return this;
  for (auto& x : inputs_)
    if (auto* found = x.round->find_round(edge))
      return found;
  return nullptr;
}

void lane_round::open(std::size_t edge, const lap& g) {
  auto& x = input_of(edge);
  x.opened = true;
  x.when = g;
  x.consumed = 0;
  ++work_; // something has moved: the round below can run now
  x.round->begin(g);
}

pulled lane_round::take(std::size_t edge, const lap& g, std::uint64_t number, item& into,
                        probe_result& found) {
  auto& x = input_of(edge);
  const auto result = x.round->consume(g, number, into, found);
  if (result == pulled::blocked)
    return result;
  x.consumed = number + 1;
  ++work_;
  return result;
}

void lane_round::resume(std::size_t edge, const lap& g, std::uint64_t number) {
  auto& x = input_of(edge);
  x.resumed = true;
  x.when = g;
  x.consumed = number;
}

void lane_round::take_base(bool is_within_item) {
  auto base = std::make_shared<lane_base>();
  base->is_within_item = is_within_item;
  base->when = when_;
  base->given = given_;
  iterator_->save(base->state);
  for (const auto& x : inputs_)
    if (x.opened)
      base->inputs.push_back({*x.round->edge(), x.round->mark_at(x.when, x.consumed)});
  if (!edge_)
    message_of(*base); // while all of it is in the cache: snapshots then copy one text per lane
  work_ = 0;
  work_for_base_ = work_after(*base);
  bases_.push_back(std::move(base));
}

/// Keeps the newest base before the consumer's place, and all later ones.
void lane_round::forget_bases(const lap& g, std::uint64_t consumed) {
  while (bases_.size() > 1 && before(bases_[1]->when, bases_[1]->given, g, consumed))
    bases_.pop_front();
}

} // namespace leat
