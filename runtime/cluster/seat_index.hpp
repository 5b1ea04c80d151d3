#pragma once

#include "runtime/cluster/coordinator_state.hpp"
#include "runtime/cluster/processes.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace leat {

/// Who holds which seat, by holder: each message of a rank asks that.
class seat_index {
public:
  void set(const std::vector<coordinator_state::seat>& seats) {
    seats_.clear();
    for (std::uint64_t rank = 0; rank < seats.size(); ++rank)
      seats_[number_of(seats[rank].holder)] = {rank, seats[rank].holder};
  }

  /// The rank whose seat the process holds in this incarnation.
  std::optional<std::uint64_t> rank_of(const incarnation& who) const {
    const auto found = seats_.find(number_of(who));
    return found == seats_.end() || found->second.holder != who ? std::nullopt
                                                                : std::optional{found->second.rank};
  }
  /// In whatever incarnation.
  bool holds_seat(const incarnation& who) const { return seats_.contains(number_of(who)); }

private:
  struct seat {
    std::uint64_t rank = 0;
    incarnation holder = {};
  };
  std::map<process_number, seat> seats_;
};

} // namespace leat
