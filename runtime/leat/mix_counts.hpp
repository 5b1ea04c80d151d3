#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// One input of a mix, and how much of what was handed over came from it.
struct mixed_input {
  /// Where its data lies, as its source says it ("web/*.jsonl"), or what its source is called.
  std::string name;
  /// Its weight at the next step, as a whole number; with `mix_schedule::cost` that for the cost of
  /// all inputs together, and 0 where only some of a job's ranks were counted.
  std::uint64_t weight = 0;
  /// Samples that it gave: each counts when it is handed over, or the first that was made of it.
  std::uint64_t samples = 0;
  /// What these cost (`mix_options::cost`); 0 if shares count samples.
  std::uint64_t cost = 0;

  friend bool operator==(const mixed_input&, const mixed_input&) = default;
};

/// What the inputs of a mix have given so far.
struct mix_counts {
  /// The field whose elements shares count; empty: they count samples.
  std::string cost;
  /// In the order of the mix's arguments.
  std::vector<mixed_input> inputs;

  friend bool operator==(const mix_counts&, const mix_counts&) = default;
};

} // namespace leat
