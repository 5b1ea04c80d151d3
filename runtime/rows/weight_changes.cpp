#include "runtime/rows/weight_changes.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/order/order.hpp"
#include "runtime/order/sample_graph.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <string>

namespace leat {

namespace {

constexpr auto by_step = [](const weight_phase& a, const weight_phase& b) {
  return a.step < b.step;
};

void check_number(const char* stage, std::size_t weights, std::size_t inputs) {
  if (weights != inputs)
    refuse_argument(stage, std::to_string(weights) + " weights",
                    std::to_string(inputs) + ", one per input of the mix");
}

} // namespace

bool weight_changes::add(const weight_phase& change, std::uint64_t now) {
  const auto at = std::lower_bound(all_.begin(), all_.end(), change, by_step);
  const bool is_known = at != all_.end() && at->step == change.step;
  if (is_known && *at != change)
    refuse_argument("set_weights", text_of(change),
                    text_of(*at) + ", as was said before; or another step, or an earlier snapshot");
  if (!is_known && change.step < now)
    refuse_argument("set_weights",
                    "step " + std::to_string(change.step)
                        + ", which is past, and had no such change",
                    "steps from " + std::to_string(now) + " on, or an earlier snapshot");
  if (!is_known)
    all_.insert(at, change);
  named_.push_back(change);
  return !is_known;
}

weight_changes weight_changes::restored(const weight_phases& of_snapshot, std::uint64_t now) const {
  weight_changes result;
  result.all_ = of_snapshot;
  for (const auto& change : named_)
    result.add(change, now);
  return result;
}

std::size_t inputs_to_weigh(const char* stage, const sample_graph& graph,
                            const epoch_geometry& shape) {
  if (graph.mixes.size() != 1)
    refuse_argument(stage, "a pipeline with " + std::to_string(graph.mixes.size()) + " mixes",
                    "one mix");
  if (!graph.mixes.front().is_in_last_round)
    refuse_argument(stage, "a mix below an operator that probes content and so runs ahead of steps",
                    "a mix with no pack, scan, read_files, filter or flat_map on content above it");
  if (graph.mixes.front().counts_cost)
    refuse_argument(stage, "a mix whose schedule counts what its items cost",
                    "one that counts steps");
  if (!shape.is_endless())
    refuse_argument(stage, "a pipeline of epochs that end", "batch() with the end \"cycle\"");
  return graph.mixes.front().inputs;
}

weight_phases whole_changes(const char* stage, const std::vector<weight_change>& changes,
                            const sample_graph& graph, const epoch_geometry& shape) {
  if (changes.empty())
    return {};
  const auto inputs = inputs_to_weigh(stage, graph, shape);
  weight_changes result;
  for (const auto& x : changes) {
    check_number(stage, x.weights.size(), inputs);
    result.add({x.step, whole_weights(x.weights)}, 0);
  }
  return result.all();
}

void check_restored(const weight_phases& of_snapshot, const sample_graph& graph,
                    const epoch_geometry& shape) {
  if (of_snapshot.empty())
    return;
  try {
    const auto inputs = inputs_to_weigh("weights of a snapshot", graph, shape);
    for (const auto& x : of_snapshot)
      check_number("weights of a snapshot", x.weights.size(), inputs);
  } catch (const error& x) {
    throw error(errc::bad_snapshot, x.details());
  }
}

} // namespace leat
