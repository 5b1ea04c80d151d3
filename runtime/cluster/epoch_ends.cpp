#include "runtime/cluster/epoch_ends.hpp"

#include <algorithm>

namespace leat {

namespace {

/// Takes over a newer horizon of one epoch; a final one stays.
bool raise(epoch_horizon& to, const epoch_horizon& x) {
  if (to.is_final || (!x.is_final && x.batches <= to.batches))
    return false;
  to = x;
  return true;
}

} // namespace

bool epoch_ends::state(std::uint64_t epoch, std::uint64_t rank, const epoch_horizon& x) {
  if (rank >= world_size_ || known_[epoch].is_final)
    return false;
  auto& all = said_[epoch];
  all.ranks.resize(world_size_);
  all.said.resize(world_size_);
  const bool is_new = !all.said[rank];
  if (is_new) {
    all.said[rank] = true;
    ++all.number;
  }
  const auto before = all.ranks[rank].batches;
  if (!raise(all.ranks[rank], x) && !is_new)
    return false;
  auto& known = known_[epoch];
  const bool was_ahead = rule_ == epoch_end::drop && before > known.batches;
  return !was_ahead && raise(known, joined(all)); // looks at all ranks only if the least may rise
}

/// drop: the epoch ends with the rank that has the fewest batches; mask: with the one that has the
/// most.
epoch_horizon epoch_ends::joined(const statements& x) const {
  const auto by_batches = [](const auto& a, const auto& b) { return a.batches < b.batches; };
  const bool all_said = x.number == world_size_;
  if (rule_ == epoch_end::drop) {
    if (!all_said)
      return {};
    const auto least = std::min_element(x.ranks.begin(), x.ranks.end(), by_batches)->batches;
    const bool is_final = std::any_of(x.ranks.begin(), x.ranks.end(), [&](const auto& rank) {
      return rank.is_final && rank.batches == least;
    });
    return {least, is_final};
  }
  const auto most = std::max_element(x.ranks.begin(), x.ranks.end(), by_batches)->batches;
  const bool is_final = all_said
                        && std::all_of(x.ranks.begin(), x.ranks.end(),
                                       [](const auto& rank) { return rank.is_final; });
  return {most, is_final};
}

bool epoch_ends::know(std::uint64_t epoch, std::uint64_t batches) {
  said_.erase(epoch);
  return raise(known_[epoch], {batches, true});
}

void epoch_ends::forget_before(std::uint64_t epoch) {
  said_.erase(said_.begin(), said_.lower_bound(epoch));
  known_.erase(known_.begin(), known_.lower_bound(epoch));
}

bool join(epoch_ends::horizons& to, const epoch_ends::horizons& from) {
  bool rose = false;
  for (const auto& [epoch, x] : from)
    rose = raise(to[epoch], x) || rose;
  return rose;
}

} // namespace leat
