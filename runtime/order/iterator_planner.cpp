#include "runtime/order/iterator_planner.hpp"

#include "runtime/order/iterators/parts.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace leat {

namespace {

/// The most passes that an indexed part has below it.
std::optional<pass_number> passes_in(const operator_node& x) {
  pass_number most = 1;
  for (const auto& input : x.inputs) {
    const auto passes = passes_in(*input);
    if (!passes)
      return std::nullopt;
    most = std::max(most, *passes);
  }
  const auto passes = type_of(x).traits.passes;
  if (passes && __builtin_mul_overflow(most, passes(x), &most))
    return std::nullopt;
  return most;
}

} // namespace

void iterator_planner::plan(const operator_node& root) {
  if (is_indexed(root)) {
    plan_.items = build_indexed(root);
  } else {
    round_ = &plan_.last_edges;
    plan_.iterator = build(root, {});
  }
  common_.finish();
  for (const auto& x : plan_.edges)
    plan_.stage_names.push_back(x.stage);
  for (const auto& x : plan_.flat_maps)
    plan_.stage_names.push_back("flat_map " + x->name);
  for (const auto& x : plan_.scans)
    plan_.stage_names.push_back("scan " + x->name);
}

iterator_form_ptr iterator_planner::build(const operator_node& x, const surroundings& at) {
  if (is_indexed(x)) {
    last_pass_below(x, at, passes_in(x));
    return indexed_part(build_indexed(x));
  }
  if (unopened_.contains(&x))
    return nullptr;
  if (x.stream)
    return build_stream(x, at);
  if (x.feed)
    return build_once(x, at);
  const auto& type = type_of(x);
  auto inside = at;
  inside.keeps_content = at.keeps_content && !type.traits.drops_made_samples;
  return type.forms.iterator(x, inside, *this);
}

indexed_form_ptr iterator_planner::build_indexed(const operator_node& x) {
  if (any_source(x, [&](const operator_node& source) { return unopened_.contains(&source); }))
    return nullptr;
  indexed_form_ptr items;
  errors_.collect([&] { items = common_.build(x); });
  return items;
}

iterator_form_ptr iterator_planner::build_stream(const operator_node& x, const surroundings& at) {
  auto data = x.stream->get();
  unit_order order{.units = data->units()};
  const auto source = common_.add_source(data->name());
  if (order.units < lanes())
    refuse(x, std::to_string(order.units) + " files or ranges",
           "at least one for each of " + std::to_string(lanes()) + " lanes");
  if (x.get<std::string>("file_order") == "shuffled") {
    order_config config{.shuffle = {.seed = x.get<std::uint64_t>("seed")},
                        .lanes = lanes(),
                        .data_digest = x.facts().digest,
                        .source = source,
                        .records_per_file = {order.units}};
    common_.see_seed(config.shuffle.seed);
    order.order =
        std::make_shared<shared_orders>(std::make_shared<const order_config>(std::move(config)));
  }
  return stream_part(std::move(data), std::move(order), source, at.keeps_content);
}

iterator_form_ptr iterator_planner::build_once(const operator_node& x, const surroundings& at) {
  auto data = x.feed->get();
  if (at.repeats)
    refuse(x, "a source that exists once, in a part that is repeated",
           "no repeat and no mix with stop \"cycle\" above it");
  if (std::find(plan_.feeds.begin(), plan_.feeds.end(), data) != plan_.feeds.end())
    refuse(x, "one source that exists once, read in two places", "one place: see map and flat_map");
  const auto feed = static_cast<std::uint32_t>(plan_.feeds.size());
  plan_.feeds.push_back(data);
  const auto source = common_.add_source(data->name());
  return once_part(std::move(data), feed, source);
}

std::vector<iterator_form_ptr> iterator_planner::build_inputs(const operator_node& x,
                                                              const surroundings& at) {
  std::vector<iterator_form_ptr> inputs;
  for (const auto& input : x.inputs)
    inputs.push_back(build(*input, at));
  return inputs;
}

edge_ptr iterator_planner::build_edge(const operator_node& x, const operator_node& input,
                                      const surroundings& at,
                                      std::function<probe_result(sample&, sample_maker&)> probe,
                                      std::string only_field) {
  std::vector<std::size_t> below;
  auto* const above = std::exchange(round_, &below);
  if (++depth_ == max_rounds + 1)
    errors_.add(name_of(x), "more than " + std::to_string(max_rounds) + " rounds in a chain",
                "fewer operators in a chain that look at content");
  auto below_edge = at;
  below_edge.keeps_content = true; // up to this operator's probe
  auto items = build(input, below_edge);
  --depth_;
  round_ = above;
  const auto number = plan_.edges.size();
  round_->push_back(number);
  plan_.edges.push_back({.stage = name_of(x),
                         .input = items,
                         .probe = std::move(probe),
                         .below = std::move(below),
                         .last_pass = at.last_pass,
                         .keeps_samples = at.keeps_content && !type_of(x).traits.replaces_samples
                                          && is_expensive(input),
                         .made_again = cheap_again(input),
                         .only_field = only_field});
  return std::make_shared<const edge_form>(number, std::move(items), std::move(only_field));
}

std::size_t iterator_planner::cheap_again(const operator_node& root) const {
  std::size_t bytes = SIZE_MAX;
  for_each_operator(root, [&](const operator_node& x) {
    const auto& traits = type_of(x).traits;
    const auto is_unopened = unopened_.contains(&x); // its error is listed already
    if (x.stream && !is_unopened)
      bytes = std::min(bytes, x.stream->get()->cheap_again());
    else if (is_unopened || x.feed || traits.is_expensive || traits.joins_samples
             || (probes_content(x) && !x.filter))
      bytes = 0;
  });
  return bytes;
}

pass_number iterator_planner::last_pass_below(const operator_node& x, const surroundings& at,
                                              std::optional<pass_number> times) {
  pass_number first = 0;
  pass_number last = 0;
  if (times && !__builtin_mul_overflow(at.last_pass, *times, &first)
      && !__builtin_add_overflow(first, *times - 1, &last))
    return last;
  refuse(x, "more than 2^128 passes, with what repeats it",
         "fewer: a mix with stop \"cycle\" has 2^32");
  return at.last_pass;
}

} // namespace leat
