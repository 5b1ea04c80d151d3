#include "runtime/order/operators/mix_iterator.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace leat {

namespace {

__extension__ using int128 = __int128;

/// One input in one lane: items with their cost.
class mix_input {
public:
  mix_input(const mix_plan& plan, std::size_t number, const lane_context& lane, const lap& g)
      : plan_(plan), number_(number), lane_(lane), when_(g) {
    begin();
  }

  pulled pull(item& into, std::uint64_t& cost) {
    const auto before = into.size();
    into.add(number_);
    if (plan_.stop == mix_stop::cycle)
      into.add(repetition_);
    probe_result found{.number = 1};
    const auto result = edge_ ? edge_->pull(into, found) : items_->pull(into);
    if (result == pulled::item) {
      ++given_;
      cost = found.bad ? 0 : found.number;
    } else {
      into.cut(before);
    }
    return result;
  }

  /// Called when an input that is to begin again has ended. Throws if it gave nothing.
  void end_repetition() const {
    if (given_ == 0)
      throw_error(errc::empty_epoch, "mix",
                  "nothing from input " + std::to_string(number_) + " in repetition "
                      + std::to_string(repetition_) + " in lane " + std::to_string(lane_.lane),
                  "at least one item in each, to begin again");
  }

  void begin_again() {
    if (repetition_ + 1 == max_mix_repetitions)
      throw_error(errc::empty_epoch, "mix",
                  "2^32 repetitions of input " + std::to_string(number_) + " in lane "
                      + std::to_string(lane_.lane),
                  "fewer: weights that fit the inputs' lengths better");
    ++repetition_;
    begin();
  }

  void save(item& to) const {
    to.add(repetition_);
    to.add(given_);
    edge_ ? edge_->save(to) : items_->save(to);
  }
  void load(item_reader& from) {
    repetition_ = from.number_below(plan_.max_repetitions(), "repetition");
    const auto given = from.number();
    begin();
    given_ = given;
    edge_ ? edge_->load(from) : items_->load(from);
  }

  std::uint64_t repetition() const noexcept { return repetition_; }
  /// It may not begin again.
  bool is_last_repetition() const noexcept {
    return plan_.max_repeats > 0 && repetition_ == plan_.max_repeats;
  }
  /// Items given in this repetition.
  std::uint64_t given() const noexcept { return given_; }

private:
  void begin() {
    const auto g = plan_.lap_of(when_, repetition_);
    given_ = 0;
    if (plan_.edges.empty())
      items_ = plan_.inputs[number_]->begin(lane_, g);
    else
      edge_.emplace(plan_.edges[number_]->begin(lane_, g));
  }

  const mix_plan& plan_;
  std::size_t number_;
  lane_context lane_;
  lap when_;
  std::uint64_t repetition_ = 0;
  /// In this repetition.
  std::uint64_t given_ = 0;
  std::unique_ptr<iterator> items_;
  std::optional<edge_iterator> edge_;
};

class mix_iterator final : public iterator {
public:
  mix_iterator(const mix_plan& plan, const lane_context& lane, const lap& g)
      : plan_(plan), lane_(lane), draws_("mix", plan.seed, plan.ordinal, g, lane.lane),
        ended_(plan.num_inputs(), course::first) {
    for (std::size_t i = 0; i < plan.num_inputs(); ++i)
      inputs_.emplace_back(plan, i, lane, g);
    begin_phase(plan_.is_timed_by_cost() ? phase_by_cost() : phase_of(step()));
  }

  pulled pull(item& into) override {
    if (!over_)
      look_at_phase();
    while (!over_) {
      const auto i = plan_.rule == mix_rule::deficit ? pick_by_deficit() : pick_at_random();
      std::uint64_t cost = 0;
      const auto result = inputs_[i].pull(into, cost);
      if (result == pulled::blocked)
        return result;
      if (result == pulled::item) {
        ++k_;
        take(i, cost);
        if (__builtin_add_overflow(spent_, cost, &spent_))
          spent_ = UINT64_MAX;
        return result;
      }
      end_of(i);
    }
    return pulled::end;
  }

  void save(item& to) const override {
    to.add(k_);
    to.add(over_ ? 1 : 0);
    to.add(phase_->step);
    if (plan_.is_timed_by_cost())
      to.add(spent_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      to.add(taken_[i]);
      to.add(static_cast<std::uint64_t>(ended_[i]));
      inputs_[i].save(to);
    }
  }
  void load(item_reader& from) override {
    k_ = from.number();
    over_ = from.number(1) == 1;
    const auto begun = from.number();
    if (plan_.is_timed_by_cost())
      spent_ = from.number();
    load_phase(begun);
    total_ = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      taken_[i] = from.number(UINT64_MAX - total_, "a share of");
      total_ += taken_[i];
      ended_[i] = static_cast<course>(from.number(plan_.max_repeats > 0 ? 2 : 1, "end"));
      inputs_[i].load(from);
    }
    check();
  }

private:
  /// What has become of an input.
  enum class course : std::uint8_t {
    first,
    /// It has ended, and begun again if it does.
    ended,
    /// It has ended and may not begin again, though others do.
    used_up,
  };

  /// Counted in the epoch; 0 where steps cannot be told.
  std::uint64_t step() const noexcept { return lane_.clock ? lane_.clock->step() : 0; }

  const weight_phase& phase_of(std::uint64_t step) const {
    static const weight_phases none;
    const auto* changes = lane_.clock ? lane_.clock->changes : nullptr;
    return phase_at(plan_.phases, changes ? *changes : none, step);
  }

  /// The lane's share of the cost that a phase begins with.
  std::uint64_t share(std::uint64_t cost) const noexcept {
    return cost <= lane_.lane ? 0 : (cost - lane_.lane - 1) / lane_.lanes + 1;
  }

  /// What holds for the next item where the schedule counts the cost.
  const weight_phase& phase_by_cost() const {
    const auto later = std::find_if(plan_.phases.begin() + 1, plan_.phases.end(),
                                    [&](const weight_phase& x) { return share(x.step) > spent_; });
    return *(later - 1);
  }

  /// Begins the phase that holds for the next item, if it is another one.
  void look_at_phase() {
    if (plan_.is_timed_by_cost()) {
      if (const auto& phase = phase_by_cost(); phase.step != phase_->step)
        begin_phase(phase);
      return;
    }
    const auto now = step();
    if (now == looked_at_)
      return;
    looked_at_ = now;
    if (const auto& phase = phase_of(now); phase.step != phase_->step)
      begin_phase(phase);
  }

  /// Shares are counted from here on: otherwise the mix would make up for those of earlier phases.
  void begin_phase(const weight_phase& x) {
    phase_ = &x;
    taken_.assign(inputs_.size(), 0);
    total_ = 0;
    // As if this many items had been picked: otherwise all lanes would begin with the same input.
    if (plan_.rule == mix_rule::deficit)
      for (std::uint64_t i = 0; i < lane_.lane; ++i)
        take(pick_by_deficit(), 1);
  }

  void load_phase(std::uint64_t begun) {
    const auto& phase = plan_.is_timed_by_cost() ? *phase_at(plan_.phases, begun)
                                                 : phase_of(std::min(begun, step()));
    if (phase.step != begun || (plan_.is_timed_by_cost() && share(begun) > spent_))
      refuse_state("weights from step " + std::to_string(begun),
                   "those from step " + std::to_string(phase.step));
    phase_ = &phase;
    looked_at_ = begun;
  }

  /// Checks what holds in every state; without it there may be no input to choose.
  void check() const {
    const auto inputs = static_cast<std::ptrdiff_t>(inputs_.size());
    const auto ends = inputs - std::count(ended_.begin(), ended_.end(), course::first);
    const bool is_over = ends == inputs || (ends > 0 && plan_.stop == mix_stop::first);
    if (over_ != is_over)
      refuse_state("a mix that " + std::string{over_ ? "is over" : "continues"} + " with "
                       + std::to_string(ends) + " of " + std::to_string(inputs)
                       + " inputs at their ends",
                   "one that its inputs allow");
    const auto first = plan_.rule == mix_rule::deficit ? lane_.lane : 0;
    const auto shared = total_ - first; // no more where only some were given in this phase
    if (plan_.edges.empty() && (total_ < first || (phase_->step == 0 ? shared != k_ : shared > k_)))
      refuse_state("shares of " + std::to_string(total_) + " items in a mix",
                   std::to_string(first) + " and the " + std::to_string(k_) + " that it gave");
    std::uint64_t given = 0; // in the inputs' current repetitions
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].repetition() > 0 && ended_[i] == course::first)
        refuse_state("an input that began again and never ended", "its end");
      if (ended_[i] == course::used_up && !inputs_[i].is_last_repetition())
        refuse_state("an input that has ended for good in repetition "
                         + std::to_string(inputs_[i].repetition()),
                     "repetition " + std::to_string(plan_.max_repeats));
      if (__builtin_add_overflow(given, inputs_[i].given(), &given) || given > k_)
        refuse_state("inputs that gave more than " + std::to_string(k_) + " items",
                     "no more than the mix");
    }
  }

  bool live(std::size_t i) const {
    return plan_.stop == mix_stop::cycle ? ended_[i] != course::used_up
                                         : ended_[i] == course::first;
  }

  /// What an input counts beside the others; `is_any`: some live one has a weight above 0.
  std::uint64_t weight_of(std::size_t i, bool is_any) const {
    if (!live(i))
      return 0;
    return is_any ? phase_->weights[i] : 1;
  }

  std::uint64_t live_weight(bool is_any) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      sum += weight_of(i, is_any);
    return sum;
  }

  bool has_live_weight() const { return live_weight(true) > 0; }

  /// The input that is furthest below its share; of several the first.
  std::size_t pick_by_deficit() const {
    const bool is_any = has_live_weight();
    const int128 weight = live_weight(is_any);
    std::optional<std::size_t> best;
    int128 most = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto own = weight_of(i, is_any);
      if (own == 0)
        continue;
      const auto lack = int128{own} * (int128{total_} + 1) - int128{taken_[i]} * weight;
      if (!best || lack > most) {
        best = i;
        most = lack;
      }
    }
    return *best;
  }

  std::size_t pick_at_random() {
    const bool is_any = has_live_weight();
    auto u = draws_.below(live_weight(is_any), k_);
    for (std::size_t i = 0;; ++i) {
      const auto weight = weight_of(i, is_any);
      if (u < weight)
        return i;
      u -= weight;
    }
  }

  void take(std::size_t i, std::uint64_t cost) {
    taken_[i] += cost;
    total_ += cost;
  }

  void end_of(std::size_t i) {
    ended_[i] = course::ended;
    const bool all = std::find(ended_.begin(), ended_.end(), course::first) == ended_.end();
    over_ = all || plan_.stop == mix_stop::first;
    if (plan_.stop != mix_stop::cycle)
      return;
    inputs_[i].end_repetition();
    if (over_)
      return;
    if (inputs_[i].is_last_repetition())
      ended_[i] = course::used_up;
    else
      inputs_[i].begin_again();
  }

  const mix_plan& plan_;
  lane_context lane_;
  draws draws_;
  std::uint64_t k_ = 0;
  /// The weights that hold, and the step that was looked at for them.
  const weight_phase* phase_ = nullptr;
  std::uint64_t looked_at_ = 0;
  /// In this phase.
  std::vector<std::uint64_t> taken_;
  std::uint64_t total_ = 0;
  /// What all items of the lap cost, where the schedule counts that.
  std::uint64_t spent_ = 0;
  std::vector<course> ended_;
  bool over_ = false;
  std::vector<mix_input> inputs_;
};

} // namespace

std::unique_ptr<iterator> begin_mix(const mix_plan& plan, const lane_context& lane, const lap& g) {
  return std::make_unique<mix_iterator>(plan, lane, g);
}

} // namespace leat
