#pragma once

#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/iterators/iterator.hpp"
#include "runtime/pipeline/mix_weights.hpp"

#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace leat {

/// The most repetitions of an input that begins again.
inline constexpr std::uint64_t max_mix_repetitions = std::uint64_t{1} << 32;

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
  /// How often an input may begin again; 0: any number of times.
  std::uint64_t max_repeats = 0;
  mix_schedule schedule_by = mix_schedule::steps;
  /// The number of its first input among those of all mixes: see input_counts.
  std::size_t first_input = 0;
  /// The field whose elements are the cost, if it has edges.
  std::string cost = {};

  std::size_t num_inputs() const noexcept { return phases.front().weights.size(); }
  /// The lap of an input in its repetition.
  lap lap_of(const lap& g, std::uint64_t repetition) const noexcept {
    return stop == mix_stop::cycle ? lap{g.epoch, g.pass * max_mix_repetitions + repetition} : g;
  }
  /// How often an input may begin, in all.
  std::uint64_t max_repetitions() const noexcept {
    if (stop != mix_stop::cycle)
      return 1;
    return max_repeats > 0 ? max_repeats + 1 : max_mix_repetitions;
  }
  bool is_timed_by_cost() const noexcept { return schedule_by == mix_schedule::cost; }
};

/// A mix at work in one lane and lap; the plan must outlive it.
std::unique_ptr<iterator> begin_mix(const mix_plan& plan, const lane_context& lane, const lap& g);

} // namespace leat
