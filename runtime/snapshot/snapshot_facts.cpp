#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/text/pipeline_rebuild.hpp"
#include "runtime/snapshot/job_file.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "runtime/snapshot/snapshot_store.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/snapshot.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace leat {

namespace {

/// Returns the bytes of all rounds below one.
std::uint64_t add_rounds_below(const lane_base& base, lane_sizes& to) {
  std::uint64_t all = 0;
  for (const auto& input : base.inputs)
    if (input.mark.base) {
      const auto bytes = input.mark.base->state.size();
      to.rounds[input.edge] += bytes;
      all += bytes + add_rounds_below(*input.mark.base, to);
    }
  return all;
}

lane_sizes sizes_of(const lane_states& lanes) {
  lane_sizes sizes{.lanes = lanes.size()};
  for (const auto& lane : lanes) {
    const auto& base = lane.mark.base;
    if (!base)
      continue;
    const auto own = base->state.size();
    const auto bytes = own + add_rounds_below(*base, sizes);
    sizes.last_round += own;
    sizes.bytes += bytes;
    sizes.largest_lane = std::max<std::uint64_t>(sizes.largest_lane, bytes);
  }
  return sizes;
}

std::vector<weight_change> changes_of(const weight_phases& phases) {
  std::vector<weight_change> changes;
  for (const auto& x : phases)
    changes.push_back({x.step, {x.weights.begin(), x.weights.end()}});
  return changes;
}

snapshot_facts facts_of(const std::vector<snapshot>& parts, bool require_all) {
  auto sum = merge(parts, require_all);
  auto mixes =
      mixes_of(sum.pipeline.root, sum.sums.given, !sum.sums.partial, sum.step, sum.weights);
  return {.pipeline = std::move(sum.pipeline),
          .epoch = sum.epoch,
          .step = sum.step,
          .global_step = sum.global_step,
          .world_size = parts.front().world_size,
          .parts = parts.size(),
          .digest = sum.sums.digest,
          .epoch_digest = sum.sums.epoch_digest,
          .samples = sum.sums.samples,
          .bad = sum.sums.bad,
          .mixes = std::move(mixes),
          .partial = sum.sums.partial,
          .left_out = std::move(sum.left_out),
          .weights = changes_of(sum.weights),
          .state = sizes_of(sum.lanes)};
}

/// "no snapshot", or what there is instead of a complete one.
[[noreturn]] void throw_none(const std::string& directory,
                             const std::vector<std::string>& skipped) {
  throw_file_error(errc::not_found, "snapshot", directory,
                   skipped.empty() ? "no snapshot"
                                   : "no complete set, but " + listed(skipped, "; "),
                   "a complete snapshot set");
}

/// The facts about a set that was found complete.
snapshot_facts facts_of(snapshot_store::found found) {
  auto facts = facts_of(found.parts, true);
  facts.skipped = std::move(found.skipped);
  facts.largest_part = found.largest_part;
  facts.in_one_file = found.in_one_file;
  return facts;
}

/// The facts about the bytes of one part.
snapshot_facts facts_of_part(const std::string& bytes, const std::string& name) {
  auto facts = facts_of({decode(bytes, name)}, false);
  facts.largest_part = bytes.size();
  return facts;
}

bool is_job_file(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown)
         && snapshot_file_at(path) == snapshot_file::job;
}

} // namespace

snapshot_set newest_snapshot(const std::string& directory, const snapshot_search& how) {
  auto found = snapshot_store{directory}.newest(how.allow_older);
  snapshot_set set{.skipped = std::move(found.skipped)};
  for (const auto& part : found.parts)
    set.parts.push_back(encode(part));
  return set;
}

snapshot_facts read_snapshot(const std::string& path, const snapshot_search& how) {
  if (!std::filesystem::is_directory(path) && !is_job_file(path))
    return facts_of_part(read_whole_file(path, max_snapshot_bytes, "snapshot"), path);
  auto found = stored_snapshot(path, how.allow_older);
  if (!found)
    throw_none(path, found.skipped);
  return facts_of(std::move(found));
}

snapshot_facts inspect_snapshot(const std::vector<std::string>& parts) {
  std::vector<snapshot> read;
  read.reserve(parts.size());
  for (const auto& part : parts)
    read.push_back(decode(part, "part " + std::to_string(read.size())));
  auto facts = facts_of(read, false);
  for (const auto& part : parts)
    facts.largest_part = std::max<std::uint64_t>(facts.largest_part, part.size());
  return facts;
}

pipeline pipeline_of(const snapshot_facts& x) {
  return rebuild(x.pipeline);
}

} // namespace leat
