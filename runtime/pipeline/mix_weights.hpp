#pragma once

#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Weights that hold from a step on, as whole numbers.
struct weight_phase {
  std::uint64_t step = 0;
  /// One per input, with a sum from 1 to 2^32 - 1.
  std::vector<std::uint64_t> weights = {};

  friend bool operator==(const weight_phase&, const weight_phase&) = default;
};

/// By rising steps.
using weight_phases = std::vector<weight_phase>;

/// Whole numbers in the ratios of these (docs/iterators.md, "mix"): exactly if their decimals allow
/// it, else rounded. Throws `errc::invalid_argument` for a number that is negative or not finite,
/// if all are 0, and if one that is not would become 0.
std::vector<std::uint64_t> whole_weights(const std::vector<double>& weights);

/// Whole numbers in the ratios of w^(1 / temperature). Throws in the same cases, and for a
/// temperature that is not above 0 and finite.
std::vector<std::uint64_t> tempered(const std::vector<std::uint64_t>& weights, double temperature);

/// "1000:7,2,1"
std::string text_of(const weight_phase& x);

/// Reads "1000: 0.7, 0.2, 0.1". Throws `errc::invalid_argument`, with `stage`.
weight_change parse_weight_change(std::string_view stage, std::string_view text);

/// Checks that these are whole weights: false if there are none, or their sum is 0, or 2^32 and
/// more.
bool are_whole_weights(const std::vector<std::uint64_t>& weights) noexcept;

/// All phases of a mix with so many inputs, the first from step 0 on, of its options: no weights
/// are equal ones. Throws `errc::invalid_argument`.
weight_phases phases_of(std::vector<std::uint64_t> weights,
                        const std::vector<std::string>& schedule, std::size_t inputs);

/// The last of these phases that has begun at a step; null if none has.
const weight_phase* phase_at(const weight_phases& phases, std::uint64_t step) noexcept;

/// What holds at a step: what began last, and of two that begin together the job's change. The
/// first of the `planned` phases begins at step 0.
const weight_phase& phase_at(const weight_phases& planned, const weight_phases& changes,
                             std::uint64_t step) noexcept;

} // namespace leat
