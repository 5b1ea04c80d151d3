#pragma once

#include "runtime/base/numbers/counted_numbers.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace leat {

/// The step that each rank of a term is done with, as far as its present life has said so, and the
/// least of them.
class rank_steps {
public:
  /// A term begins, or is taken over: nobody has said anything.
  void begin_term(std::uint64_t world_size) {
    steps_.assign(world_size, std::nullopt);
    said_.clear();
  }
  void set(std::uint64_t rank, std::uint64_t step) {
    forget(rank);
    steps_[rank] = step;
    said_.add(step);
  }
  void forget(std::uint64_t rank) {
    if (steps_[rank])
      said_.remove(*steps_[rank]);
    steps_[rank].reset();
  }

  /// None until all ranks have said where they are.
  std::optional<std::uint64_t> least() const {
    if (said_.empty() || said_.size() < steps_.size())
      return std::nullopt;
    return said_.least();
  }

private:
  std::vector<std::optional<std::uint64_t>> steps_;
  counted_numbers said_;
};

} // namespace leat
