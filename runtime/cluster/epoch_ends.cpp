#include "runtime/cluster/epoch_ends.hpp"

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
  auto& of_rank = all.ranks[rank];
  const auto before = of_rank;
  const bool has_said = all.said[rank];
  if (!raise(of_rank, x) && has_said)
    return false;
  all.said[rank] = true;
  if (has_said)
    all.batches.change(before.batches, of_rank.batches);
  else
    all.batches.add(of_rank.batches);
  if (of_rank.is_final) // it was not before: a final one stays
    all.of_final.add(of_rank.batches);
  const bool rose = raise(known_[epoch], joined(all));
  if (known_[epoch].is_final)
    said_.erase(epoch);
  return rose;
}

/// drop: the epoch ends with the rank that has the fewest batches; mask: with the one that has the
/// most.
epoch_horizon epoch_ends::joined(const statements& x) const {
  const bool all_said = x.batches.size() == world_size_;
  if (rule_ != epoch_end::drop)
    return {x.batches.largest(), all_said && x.of_final.size() == world_size_};
  if (!all_said)
    return {};
  const auto least = x.batches.least();
  return {least, !x.of_final.empty() && x.of_final.least() == least};
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
