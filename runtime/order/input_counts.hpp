#pragma once

#include "runtime/pipeline/mix_weights.hpp"

#include <leat/mix_counts.hpp>
#include <leat/pipeline_facts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// What one input of a mix gave.
struct input_count {
  std::uint64_t samples = 0;
  std::uint64_t cost = 0;

  friend bool operator==(const input_count&, const input_count&) = default;
};

/// What the inputs of all mixes gave. Inputs are numbered over the pipeline: mixes in data order,
/// the inputs of each from left to right. Those after the last one that gave anything are left out,
/// so that equal counts are equal values.
using input_counts = std::vector<input_count>;

/// Counts one sample of an input.
void add_sample(input_counts& to, std::size_t input, std::uint64_t cost);
void add(input_counts& to, std::span<const input_count> x);

/// The pipeline's mixes in data order, with these counts, and with the weights that hold at a step
/// of the epoch; `changes` are the job's. Where a schedule counts what items cost, the weights are
/// those for the cost that is counted here, or all 0 if these are not the counts of all ranks
/// (`is_whole`). Throws `errc::bad_snapshot` for counts of more inputs than there are.
std::vector<mix_counts> mixes_of(const operator_facts& root, const input_counts& given,
                                 bool is_whole, std::uint64_t step, const weight_phases& changes);

} // namespace leat
