#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/mix_weights.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace leat {

namespace {

/// Weights of one phase, as whole numbers. Throws `errc::invalid_argument`.
std::vector<std::uint64_t> weights_of(const std::vector<double>& given, double temperature,
                                      std::size_t inputs) {
  if (given.size() != inputs)
    refuse_argument("mix.weights", std::to_string(given.size()),
                    std::to_string(inputs) + ", one per input");
  return tempered(whole_weights(given), temperature);
}

/// The schedule as the node has it.
std::vector<std::string> schedule_of(const mix_options& x, std::size_t inputs) {
  std::vector<std::string> texts;
  std::uint64_t last = 0;
  for (const auto& change : x.schedule) {
    if (change.step <= last)
      refuse_argument("mix.schedule",
                      "step " + std::to_string(change.step) + " after step " + std::to_string(last),
                      "rising steps, from 1 on");
    last = change.step;
    texts.push_back(text_of({change.step, weights_of(change.weights, x.temperature, inputs)}));
  }
  return texts;
}

} // namespace

pipeline mix(std::vector<pipeline> inputs, mix_options options) {
  std::vector<std::uint64_t> weights;
  if (options.weights.empty())
    (void)tempered({}, options.temperature); // which is checked all the same
  else
    weights = weights_of(options.weights, options.temperature, inputs.size());
  operator_node node{.op = "mix",
                     .options = {{"weights", std::move(weights)},
                                 {"rule", word_of(options.rule, mix_rules)},
                                 {"stop", word_of(options.stop, mix_stops)},
                                 {"cost", std::move(options.cost)},
                                 {"seed", options.seed}}};
  if (auto schedule = schedule_of(options, inputs.size()); !schedule.empty())
    node.options.push_back({"schedule", std::move(schedule)});
  return pipeline::join(std::move(node), std::move(inputs));
}

namespace {

/// The most repetitions of an input that begins again.
constexpr std::uint64_t max_mix_repetitions = std::uint64_t{1} << 32;

/// `edges` takes the place of the inputs if shares count a cost, which edges find.
struct mix_plan {
  std::vector<iterator_form_ptr> inputs = {};
  std::vector<edge_ptr> edges = {};
  /// The first one begins at step 0.
  weight_phases phases;
  mix_rule rule = mix_rule::deficit;
  mix_stop stop = mix_stop::all;
  std::uint64_t seed = 0;
  std::uint64_t ordinal = 0;
  /// The number of its first input among those of all mixes: see input_counts.
  std::size_t first_input = 0;
  /// The field whose elements are the cost, if it has edges.
  std::string cost = {};

  std::size_t num_inputs() const noexcept { return phases.front().weights.size(); }
};

__extension__ using int128 = __int128;

/// What an item costs.
std::uint64_t cost_of(const sample& x, const std::string& field) {
  return x.bytes(field).size() / size_of(sample_access::layout_of(x, field).type);
}

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
      throw error(errc::empty_epoch,
                  {.stage = "mix",
                   .got = "nothing from input " + std::to_string(number_) + " in repetition "
                          + std::to_string(repetition_) + " in lane " + std::to_string(lane_.lane),
                   .needed = "at least one item in each, to begin again"});
  }

  void begin_again() {
    if (repetition_ + 1 == max_mix_repetitions)
      throw error(errc::empty_epoch,
                  {.stage = "mix",
                   .got = "2^32 repetitions of input " + std::to_string(number_) + " in lane "
                          + std::to_string(lane_.lane),
                   .needed = "fewer: weights that fit the inputs' lengths better"});
    ++repetition_;
    begin();
  }

  void save(item& to) const {
    to.add(repetition_);
    to.add(given_);
    edge_ ? edge_->save(to) : items_->save(to);
  }
  void load(item_reader& from) {
    repetition_ =
        from.number_below(plan_.stop == mix_stop::cycle ? max_mix_repetitions : 1, "repetition");
    const auto given = from.number();
    begin();
    given_ = given;
    edge_ ? edge_->load(from) : items_->load(from);
  }

  std::uint64_t repetition() const noexcept { return repetition_; }
  /// Items given in this repetition.
  std::uint64_t given() const noexcept { return given_; }

  static lap when(const lap& g, mix_stop stop, std::uint64_t repetition) {
    return stop == mix_stop::cycle ? lap{g.epoch, g.pass * max_mix_repetitions + repetition} : g;
  }

private:
  void begin() {
    const auto g = when(when_, plan_.stop, repetition_);
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
        ended_(plan.num_inputs()) {
    for (std::size_t i = 0; i < plan.num_inputs(); ++i)
      inputs_.emplace_back(plan, i, lane, g);
    begin_phase(phase_of(step()));
  }

  pulled pull(item& into) override {
    if (const auto now = step(); now != looked_at_ && !over_) {
      looked_at_ = now;
      if (const auto& phase = phase_of(now); phase.step != phase_->step)
        begin_phase(phase);
    }
    while (!over_) {
      const auto i = plan_.rule == mix_rule::deficit ? pick_by_deficit() : pick_at_random();
      std::uint64_t cost = 0;
      const auto result = inputs_[i].pull(into, cost);
      if (result == pulled::blocked)
        return result;
      if (result == pulled::item) {
        ++k_;
        take(i, cost);
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
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      to.add(taken_[i]);
      to.add(ended_[i] ? 1 : 0);
      inputs_[i].save(to);
    }
  }
  void load(item_reader& from) override {
    k_ = from.number();
    over_ = from.number(1) == 1;
    load_phase(from.number());
    total_ = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      taken_[i] = from.number(UINT64_MAX - total_, "a share of");
      total_ += taken_[i];
      ended_[i] = from.number(1) == 1;
      inputs_[i].load(from);
    }
    check();
  }

private:
  /// Counted in the epoch; 0 where steps cannot be told.
  std::uint64_t step() const noexcept { return lane_.clock ? lane_.clock->step() : 0; }

  const weight_phase& phase_of(std::uint64_t step) const {
    static const weight_phases none;
    const auto* changes = lane_.clock ? lane_.clock->changes : nullptr;
    return phase_at(plan_.phases, changes ? *changes : none, step);
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
    const auto& phase = phase_of(std::min(begun, step()));
    if (phase.step != begun)
      refuse_state("weights from step " + std::to_string(begun),
                   "those from step " + std::to_string(phase.step));
    phase_ = &phase;
    looked_at_ = begun;
  }

  /// Checks what holds in every state; without it there may be no input to choose.
  void check() const {
    const auto ends = std::count(ended_.begin(), ended_.end(), true);
    const auto inputs = static_cast<std::ptrdiff_t>(inputs_.size());
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
      if (inputs_[i].repetition() > 0 && !ended_[i])
        refuse_state("an input that began again and never ended", "its end");
      if (__builtin_add_overflow(given, inputs_[i].given(), &given) || given > k_)
        refuse_state("inputs that gave more than " + std::to_string(k_) + " items",
                     "no more than the mix");
    }
  }

  bool live(std::size_t i) const { return plan_.stop == mix_stop::cycle || !ended_[i]; }

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
    ended_[i] = true;
    bool all = true;
    for (const bool x : ended_)
      all = all && x;
    over_ = all || plan_.stop == mix_stop::first;
    if (plan_.stop != mix_stop::cycle)
      return;
    inputs_[i].end_repetition();
    if (!over_)
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
  std::vector<bool> ended_;
  bool over_ = false;
  std::vector<mix_input> inputs_;
};

class mix_form final : public iterator_form {
public:
  explicit mix_form(mix_plan plan) : plan_(std::move(plan)) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<mix_iterator>(plan_, lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto i = from.number_below(plan_.num_inputs(), "input");
    const auto inside = place_in(from, at);
    const auto has_cost = !plan_.edges.empty();
    const auto sample_key = has_cost ? plan_.edges[i]->make(from, inside, into, with)
                                     : plan_.inputs[i]->make(from, inside, into, with);
    with.count_given(plan_.first_input + i, has_cost ? cost_of(into, plan_.cost) : 0);
    return sample_key;
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    const auto i = from.number_below(plan_.num_inputs(), "input");
    const auto inside = place_in(from, at);
    if (plan_.edges.empty())
      plan_.inputs[i]->append_id(from, inside, orders, to);
    else
      plan_.edges[i]->append_id(from, inside, orders, to);
  }

private:
  item_place place_in(item_reader& from, const item_place& at) const {
    if (plan_.stop != mix_stop::cycle)
      return at;
    return {
        at.lane, at.lanes,
        mix_input::when(at.when, plan_.stop, from.number_below(max_mix_repetitions, "repetition"))};
  }

  mix_plan plan_;
};

bool counts_cost(const operator_node& x) {
  return !x.get<std::string>("cost").empty() && value_of(x, "rule", mix_rules) != mix_rule::random;
}

/// Bytes per input, for numbers of usual size.
constexpr std::uint64_t bytes_of_share = 6;

iterator_form_ptr build_mix(const operator_node& x, const surroundings& above,
                            iterator_planner& planner) {
  mix_plan mix{.phases = phases_of(x.get<std::vector<std::uint64_t>>("weights"),
                                   x.get<std::vector<std::string>>("schedule"), x.inputs.size()),
               .rule = value_of(x, "rule", mix_rules),
               .stop = value_of(x, "stop", mix_stops),
               .seed = x.get<std::uint64_t>("seed"),
               .cost = x.get<std::string>("cost")};
  const mix_place place{x.inputs.size(), planner.is_in_last_round()};
  if (mix.phases.size() > 1 && !place.is_in_last_round)
    planner.refuse(
        x, "a schedule, below an operator that probes content and so runs ahead of steps",
        "a mix with no pack, scan, read_files, filter or flat_map on content, or mix with "
        "a cost above it: those stand in its inputs");
  auto at = above;
  if (mix.stop == mix_stop::cycle)
    at = {.last_pass = planner.last_pass_below(x, above, max_mix_repetitions),
          .repeats = true,
          .keeps_content = above.keeps_content};
  if (!counts_cost(x))
    mix.inputs = planner.build_inputs(x, at);
  else
    for (const auto& input : x.inputs)
      mix.edges.push_back(planner.build_edge(
          x, *input, at, [cost = x.get<std::string>("cost")](const sample& s, sample_maker&) {
            return probe_result{.number = cost_of(s, cost)};
          }));
  mix.ordinal = planner.take_ordinal(x);
  for (const auto& before : planner.result().mixes)
    mix.first_input += before.inputs;
  planner.result().mixes.push_back(place);
  if (mix.rule == mix_rule::random)
    planner.common().see_seed(mix.seed);
  return std::make_shared<mix_form>(std::move(mix));
}

pipeline make_mix(const operator_node& call, const std::vector<pipeline>& on) {
  const auto& weights = call.get<std::vector<std::uint64_t>>("weights");
  std::vector<weight_change> schedule;
  for (const auto& text : call.get<std::vector<std::string>>("schedule"))
    schedule.push_back(parse_weight_change("mix.schedule", text));
  return mix(on, {.weights = {weights.begin(), weights.end()},
                  .rule = value_of(call, "rule", mix_rules),
                  .stop = value_of(call, "stop", mix_stops),
                  .cost = call.get<std::string>("cost"),
                  .seed = call.get<std::uint64_t>("seed"),
                  .schedule = std::move(schedule),
                  .temperature = call.get<double>("temperature")});
}

} // namespace

operator_type mix_operator() {
  using enum option_type;
  return {
      .word = "mix",
      .role = operator_role::join,
      .options = {{"weights", ratios, std::vector<std::uint64_t>{}},
                  one_of("rule", mix_rules, mix_rule::deficit),
                  one_of("stop", mix_stops, mix_stop::all),
                  {"cost", text, std::string{}},
                  {"seed", number, std::uint64_t{0}},
                  {.name = "schedule",
                   .type = texts,
                   .preset = std::vector<std::string>{},
                   .only_if_changed = true},
                  // It has had its effect on the weights: no node has it.
                  {.name = "temperature", .type = real, .preset = 1.0, .only_if_changed = true}},
      .make = make_mix,
      .traits = {.probes_content = counts_cost},
      .forms = {.iterator = build_mix, .state_version = 2},
      .graph = {.state = [](const operator_node& x, const graph_facts& facts) -> state_sizes {
        return {"shares and ends of its inputs", 1 + x.inputs.size() * bytes_of_share,
                plus(facts.item, 2)};
      }}};
}

} // namespace leat
