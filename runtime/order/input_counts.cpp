#include "runtime/order/input_counts.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"

#include <string>

namespace leat {

namespace {

std::string where(const operator_facts& source) {
  if (const auto* patterns = source.find<std::vector<std::string>>("patterns"))
    return listed(*patterns, " ");
  for (const auto* option : {"directory", "path", "name"})
    if (const auto* text = source.find<std::string>(option))
      return *text;
  return source.op;
}

/// What the input's sources say, several with the number of the others.
std::string name_of(const operator_facts& input) {
  std::string name;
  std::size_t others = 0;
  for_each_operator(input, [&](const operator_facts& x) {
    if (!x.is_source())
      return;
    if (name.empty())
      name = where(x);
    else
      ++others;
  });
  return others == 0 ? name : name + " and " + std::to_string(others) + " more";
}

/// Weights of an operator that may be of a snapshot: all 0 if it says none that can be.
std::vector<std::uint64_t> weights_at(const operator_facts& mix, std::uint64_t place,
                                      const weight_phases& changes) {
  const auto inputs = mix.inputs.size();
  try {
    const auto phases = phases_of(mix.get<std::vector<std::uint64_t>>("weights"),
                                  mix.get<std::vector<std::string>>("schedule"), inputs);
    const auto& weights = phase_at(phases, changes, place).weights;
    if (weights.size() == inputs)
      return weights;
  } catch (const error&) { // it was not made by this leat
  }
  return std::vector<std::uint64_t>(inputs, 0);
}

} // namespace

void add_sample(input_counts& to, std::size_t input, std::uint64_t cost) {
  if (to.size() <= input)
    to.resize(input + 1);
  ++to[input].samples;
  to[input].cost += cost;
}

void add(input_counts& to, std::span<const input_count> x) {
  if (to.size() < x.size())
    to.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    to[i].samples += x[i].samples;
    to[i].cost += x[i].cost;
  }
}

std::vector<mix_counts> mixes_of(const operator_facts& root, const input_counts& given,
                                 bool is_whole, std::uint64_t step, const weight_phases& changes) {
  std::vector<mix_counts> mixes;
  std::size_t next = 0;
  for_each_operator(root, [&](const operator_facts& x) {
    if (x.op != "mix")
      return;
    auto& mix = mixes.emplace_back(mix_counts{.cost = x.get<std::string>("cost"), .inputs = {}});
    if (x.get<std::string>("rule") == "random")
      mix.cost.clear();
    std::uint64_t cost = 0;
    for (const auto& input : x.inputs) {
      const auto count = next < given.size() ? given[next] : input_count{};
      ++next;
      cost += count.cost;
      mix.inputs.push_back({name_of(input), 0, count.samples, count.cost});
    }
    const bool by_cost = x.get<std::string>("schedule_by") == "cost";
    if (by_cost && !is_whole)
      return;
    const auto weights = by_cost ? weights_at(x, cost, {}) : weights_at(x, step, changes);
    for (std::size_t i = 0; i < weights.size(); ++i)
      mix.inputs[i].weight = weights[i];
  });
  if (given.size() > next)
    throw_error(errc::bad_snapshot, "snapshot",
                "counts of " + std::to_string(given.size()) + " inputs of mixes",
                "at most the " + std::to_string(next) + " of the pipeline");
  return mixes;
}

} // namespace leat
