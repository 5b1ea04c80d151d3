#include "runtime/base/error_in_flight.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <algorithm>
#include <set>

namespace leat {

namespace {

[[noreturn]] void refuse_parts(std::string got, std::string needed) {
  throw_error(errc::bad_snapshot, "snapshot", std::move(got), std::move(needed));
}

std::string position_of(const snapshot& x) {
  return "epoch " + std::to_string(x.epoch) + " step " + std::to_string(x.step) + " (step "
         + std::to_string(x.global_step) + " of the job, " + std::to_string(x.world_size)
         + " ranks, in a run that began at step " + std::to_string(x.began) + ')';
}

void check_rank(const snapshot& part, std::set<std::uint64_t>& seen) {
  if (part.rank >= part.world_size)
    refuse_parts("rank " + std::to_string(part.rank),
                 "a rank below the world size " + std::to_string(part.world_size));
  if (!seen.insert(part.rank).second)
    refuse_parts("rank " + std::to_string(part.rank) + " twice", "each rank once");
}

} // namespace

void check_together(const snapshot& a, const snapshot& b) {
  if (position_of(a) != position_of(b))
    refuse_parts("a part of " + position_of(b), position_of(a));
  if (a.left_out != b.left_out)
    refuse_parts("parts that leave out different steps", "parts of one run");
  if (a.weights != b.weights)
    refuse_parts("parts with different changes of weights", "parts of one run");
  if (a.feeds != b.feeds)
    refuse_parts("parts whose feeds have served different records", "parts of one run");
  if (a.fields != b.fields)
    refuse_parts("parts whose batches have different fields", "parts of one run");
  // A rank that was begun later may have found other versions: each part is held against those of
  // now on a resume, which may allow them.
  for (const auto& x : compare(a, b.pipeline))
    if (x.name != "pins")
      refuse_parts("parts of different pipelines, " + x.text, "parts of one pipeline");
}

std::string missing_ranks(const std::vector<std::uint64_t>& present, std::uint64_t world_size) {
  constexpr std::uint64_t most = 16;
  const std::set<std::uint64_t> seen{present.begin(), present.end()};
  const auto missing = world_size - seen.size();
  std::string text = missing == 1 ? "no part of rank" : "no parts of ranks";
  std::uint64_t named = 0;
  for (std::uint64_t rank = 0; named < std::min(missing, most); ++rank)
    if (!seen.contains(rank))
      text += (named++ == 0 ? " " : ", ") + std::to_string(rank);
  return missing > named ? text + " and " + std::to_string(missing - named) + " more" : text;
}

snapshot merge(const std::vector<snapshot>& parts, bool require_all) {
  if (parts.empty())
    refuse_parts("no parts", "at least one part");
  // The lowest rank gives what is not summed, so that the order of the parts does not matter.
  auto sum = *std::min_element(parts.begin(), parts.end(),
                               [](auto& a, auto& b) { return a.rank < b.rank; });
  sum.sums = {};
  std::set<std::uint64_t> seen;
  for (const auto& part : parts) {
    check_together(sum, part);
    check_rank(part, seen);
    sum.sums += part.sums;
    if (part.rank != sum.rank)
      sum.lanes.insert(sum.lanes.end(), part.lanes.begin(), part.lanes.end());
  }
  std::sort(sum.lanes.begin(), sum.lanes.end(),
            [](const lane_state& a, const lane_state& b) { return a.lane < b.lane; });
  if (seen.size() < sum.world_size) {
    if (require_all)
      refuse_parts(missing_ranks({seen.begin(), seen.end()}, sum.world_size),
                   "all " + std::to_string(sum.world_size) + " parts");
    sum.sums.partial = true;
  }
  return sum;
}

} // namespace leat
