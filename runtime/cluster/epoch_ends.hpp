#pragma once

#include "messages/epoch_horizon.hpp"
#include "runtime/base/numbers/counted_numbers.hpp"

#include <leat/pipeline.hpp>

#include <cstdint>
#include <map>
#include <vector>

namespace leat {

/// Finds where epochs of unknown length end, from what ranks state about themselves. Statements may
/// come in any order, twice, and from former lives of a rank: what is known only rises.
class epoch_ends {
public:
  using horizons = std::map<std::uint64_t, epoch_horizon>;

  /// For one term.
  epoch_ends(epoch_end rule, std::uint64_t world_size) : rule_(rule), world_size_(world_size) {}

  /// Takes what a rank has of an epoch. True if the job knows more than before.
  bool state(std::uint64_t epoch, std::uint64_t rank, const epoch_horizon& x);
  /// The epoch is known, from before, to have so many batches. True if that is new.
  bool know(std::uint64_t epoch, std::uint64_t batches);
  /// Epochs before this one are of no use any more.
  void forget_before(std::uint64_t epoch);

  const horizons& known() const noexcept { return known_; }

private:
  struct statements {
    /// By rank; `said` tells which of them have said anything.
    std::vector<epoch_horizon> ranks;
    std::vector<bool> said;
    /// Batches of those that have said something, and of those that are final: each beat of a large
    /// job may change one of them, and nobody looks at all.
    counted_numbers batches;
    counted_numbers of_final;
  };

  epoch_horizon joined(const statements& x) const;

  epoch_end rule_;
  std::uint64_t world_size_;
  std::map<std::uint64_t, statements> said_;
  horizons known_;
};

/// Takes over what others know: each epoch only rises. True if anything has risen.
bool join(epoch_ends::horizons& to, const epoch_ends::horizons& from);

} // namespace leat
