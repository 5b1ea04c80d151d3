#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/operators/mix_iterator.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/mix_weights.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/error.hpp>

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

void check_later_options(const mix_options& x) {
  const bool cycles = x.stop == mix_stop::cycle;
  if (x.max_repeats > 0 && (!cycles || x.max_repeats >= max_mix_repetitions))
    refuse_argument("mix.max_repeats",
                    std::to_string(x.max_repeats)
                        + (cycles ? "" : " with stop=\"" + word_of(x.stop, mix_stops) + '"'),
                    "at most 2^32 - 1, and stop=\"cycle\"");
  if (x.schedule_by == mix_schedule::cost
      && (x.cost.empty() || x.rule == mix_rule::random || x.schedule.empty()))
    refuse_argument("mix.schedule_by",
                    "\"cost\", of a mix without a "
                        + std::string{x.schedule.empty() ? "schedule" : "cost"},
                    "a schedule, a cost and rule=\"deficit\"");
}

} // namespace

pipeline mix(std::vector<pipeline> inputs, mix_options options) {
  check_later_options(options);
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
  if (options.max_repeats > 0)
    node.options.push_back({"max_repeats", options.max_repeats});
  if (options.schedule_by != mix_schedule::steps)
    node.options.push_back({"schedule_by", word_of(options.schedule_by, mix_schedules)});
  return pipeline::join(std::move(node), std::move(inputs));
}

namespace {

/// What an item costs.
std::uint64_t cost_of(const sample& x, const std::string& field) {
  return x.bytes(field).size() / size_of(sample_access::layout_of(x, field).type);
}

class mix_form final : public iterator_form {
public:
  explicit mix_form(mix_plan plan) : plan_(std::move(plan)) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return begin_mix(plan_, lane, g);
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
  void recall(item_reader& from, restored_content& to) const override {
    const auto i = from.number_below(plan_.num_inputs(), "input");
    place_in(from, {});
    if (plan_.edges.empty())
      plan_.inputs[i]->recall(from, to);
    else
      plan_.edges[i]->recall(from, to);
  }
  stored_objects* locate(item_reader& from, std::vector<extent>& into) const override {
    const auto i = from.number_below(plan_.num_inputs(), "input");
    place_in(from, {});
    return plan_.edges.empty() ? plan_.inputs[i]->locate(from, into) : nullptr;
  }

private:
  item_place place_in(item_reader& from, const item_place& at) const {
    if (plan_.stop != mix_stop::cycle)
      return at;
    return {at.lane, at.lanes,
            plan_.lap_of(at.when, from.number_below(max_mix_repetitions, "repetition"))};
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
               .max_repeats = x.get<std::uint64_t>("max_repeats"),
               .schedule_by = value_of(x, "schedule_by", mix_schedules),
               .cost = x.get<std::string>("cost")};
  const mix_place place{x.inputs.size(), planner.is_in_last_round(), mix.is_timed_by_cost()};
  if (mix.phases.size() > 1 && !place.is_in_last_round && !place.counts_cost)
    planner.refuse(
        x, "a schedule, below an operator that probes content and so runs ahead of steps",
        "a mix with no pack, scan, read_files, filter or flat_map on content, or mix with "
        "a cost above it: those stand in its inputs; or schedule_by=\"cost\"");
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
                  .temperature = call.get<double>("temperature"),
                  .max_repeats = call.get<std::uint64_t>("max_repeats"),
                  .schedule_by = value_of(call, "schedule_by", mix_schedules)});
}

} // namespace

operator_type mix_operator() {
  using enum option_type;
  return {.word = "mix",
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
                      {.name = "temperature", .type = real, .preset = 1.0, .only_if_changed = true},
                      later({"max_repeats", number, std::uint64_t{0}}),
                      later(one_of("schedule_by", mix_schedules, mix_schedule::steps))},
          .make = make_mix,
          .traits = {.probes_content = counts_cost},
          .forms = {.iterator = build_mix, .state_version = 2},
          .graph = {.state = [](const operator_node& x, const graph_facts& facts) -> state_sizes {
            const bool has_cost = value_of(x, "schedule_by", mix_schedules) == mix_schedule::cost;
            return {"shares and ends of its inputs",
                    1 + (x.inputs.size() + (has_cost ? 1 : 0)) * bytes_of_share,
                    plus(facts.item, 2)};
          }}};
}

} // namespace leat
