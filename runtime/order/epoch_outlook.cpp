#include "runtime/order/epoch_outlook.hpp"

#include <algorithm>

namespace leat {

namespace {

using lane_list = std::vector<lane_supply>;

/// Whether some lane has fewer items than are needed, and may get more later.
bool may_come(const lane_list& lanes, std::size_t needed) {
  return std::any_of(lanes.begin(), lanes.end(), [&](const lane_supply& x) {
    return x.items < needed && !x.is_dry && !x.has_failed;
  });
}

/// The lane whose failure has the first position, among those that have fewer items than are needed
/// and will get no more.
std::optional<std::size_t> first_failure(const lane_list& lanes, std::size_t needed) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i].has_failed && lanes[i].items < needed) {
      needed = lanes[i].items;
      first = i;
    }
  return first;
}

/// The failure that makes the next batch fail for certain. Which of several lanes' failures is
/// reported does not depend on which came first; but nobody has to wait for a feed to be told of an
/// error.
std::optional<std::size_t> certain_failure(const lane_list& lanes, std::size_t per_batch,
                                           bool waits_for_feed) {
  return may_come(lanes, per_batch) && !waits_for_feed ? std::nullopt
                                                       : first_failure(lanes, per_batch);
}

/// A batch needs items of all lanes.
epoch_outlook look_ahead_drop(const lane_list& lanes, std::size_t per_batch) {
  const auto least = std::min_element(lanes.begin(), lanes.end(), [](const auto& a, const auto& b) {
                       return a.items < b.items;
                     })->items;
  const auto batches = least / per_batch;
  const auto needed = (batches + 1) * per_batch;
  // A lane that has no more items ends the epoch, whatever the others have met in place of their
  // items.
  if (std::any_of(lanes.begin(), lanes.end(),
                  [&](const auto& x) { return x.items < needed && x.is_dry; }))
    return {.batches = batches, .is_final = true, .is_known = true};
  if (may_come(lanes, needed))
    return {.batches = batches, .is_known = batches > 1};
  // The batch for which items are lacking comes, as a failure.
  const auto failed = batches == 0 ? first_failure(lanes, needed) : std::nullopt;
  return {.batches = batches + 1, .is_known = batches > 0, .failed = failed};
}

/// A batch needs items of one lane; all other lanes must have ended, or have their items.
epoch_outlook look_ahead_mask(const lane_list& lanes, std::size_t per_batch, bool waits_for_feed) {
  std::uint64_t batches = 0;
  // A lane that has not ended may fail at the item that it lacks, and no batch follows after that.
  std::uint64_t most = UINT64_MAX;
  for (const auto& x : lanes) {
    const std::uint64_t whole = x.items / per_batch;
    const bool has_more = x.has_failed || x.items % per_batch != 0;
    batches = std::max(batches, whole + (has_more ? 1 : 0));
    if (!x.is_dry)
      most = std::min(most, whole + 1);
  }
  const bool is_final = most == UINT64_MAX;
  batches = std::min(batches, most);
  const bool is_there = std::all_of(
      lanes.begin(), lanes.end(), [&](const auto& x) { return x.items >= per_batch || x.is_dry; });
  if (!is_there)
    return {.batches = batches, .failed = certain_failure(lanes, per_batch, waits_for_feed)};
  return {.batches = batches, .is_final = is_final, .is_known = is_final || batches > 1};
}

epoch_outlook look_ahead_cycle(const lane_list& lanes, std::size_t per_batch, bool waits_for_feed) {
  const bool is_known =
      std::all_of(lanes.begin(), lanes.end(), [&](const auto& x) { return x.items >= per_batch; });
  if (is_known)
    return {.batches = 1, .is_known = true};
  return {.failed = certain_failure(lanes, per_batch, waits_for_feed)};
}

} // namespace

lane_supply supply_of(const lane_round& lane) {
  const auto& items = lane.items();
  const auto n = items.size();
  if (n == 0)
    return {.has_failed = lane.failure().has_value()};
  const auto& epoch = items.front().when;
  if (const auto& last = items[n - 1]; last.when == epoch)
    return last.is_end ? lane_supply{.items = n - 1, .is_dry = true}
                       : lane_supply{.items = n, .has_failed = lane.failure().has_value()};
  // The epoch's end is the last of it: items are ordered by epoch.
  std::size_t first = 0;
  for (auto later = n - 1; later - first > 1;) {
    const auto middle = first + (later - first) / 2;
    (items[middle].when == epoch ? first : later) = middle;
  }
  return {.items = first, .is_dry = true};
}

lane_supply supply_of(const lane_round& lane, std::size_t enough) {
  lane_supply result;
  const auto& items = lane.items();
  for (std::size_t i = 0; i < items.size(); ++i)
    if (!items[i].is_end && ++result.items == enough)
      return result;
  result.has_failed = lane.failure().has_value();
  return result;
}

epoch_outlook look_ahead(const lane_list& lanes, epoch_end end, std::size_t per_batch,
                         bool waits_for_feed) {
  return end == epoch_end::cycle  ? look_ahead_cycle(lanes, per_batch, waits_for_feed)
         : end == epoch_end::mask ? look_ahead_mask(lanes, per_batch, waits_for_feed)
                                  : look_ahead_drop(lanes, per_batch);
}

} // namespace leat
