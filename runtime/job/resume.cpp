#include "runtime/job/resume.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/snapshot/job_file.hpp"
#include "runtime/snapshot/snapshot_store.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

namespace leat {

namespace {

/// Checks that a job with these epochs can stand there. `same`: no difference was allowed, for
/// instance in batch sizes.
void check_position(const snapshot& x, const epoch_geometry& shape, bool same) {
  const auto refuse = [&](const std::string& needed) {
    throw_error(errc::bad_snapshot, "restore",
                "epoch " + std::to_string(x.epoch) + " step " + std::to_string(x.step) + ", step "
                    + std::to_string(x.global_step) + " of a job that began at "
                    + std::to_string(x.began),
                needed);
  };
  constexpr auto most = std::uint64_t{1} << 62;
  if (x.epoch > most || x.global_step > most || x.step > most / shape.batch_rows)
    refuse("steps that a job can reach");
  if (x.began > x.global_step)
    refuse("a beginning at or before the step");
  if (shape.is_endless() && x.epoch != 0)
    refuse("epoch 0: it has no end");
  if (same && shape.has_length() && x.step >= shape.batches())
    refuse("a step below the epoch's " + std::to_string(shape.batches()));
}

/// The states of every `step`-th lane from `first` on, whichever parts they come from; none at the
/// beginning of an epoch.
lane_states lanes_of_parts(const char* stage, std::uint64_t lanes, const snapshot& merged,
                           std::size_t parts, std::uint64_t first, std::uint64_t step) {
  lane_states found;
  if (merged.lanes.empty()) {
    if (merged.step != 0)
      throw_error(errc::bad_snapshot, stage,
                  "no lane's state at step " + std::to_string(merged.step),
                  "the state of each lane");
    return found;
  }
  auto next = merged.lanes.begin();
  for (auto lane = first; lane < lanes; lane += step) {
    next = std::find_if(next, merged.lanes.end(), [&](auto& x) { return x.lane >= lane; });
    if (next == merged.lanes.end() || next->lane != lane)
      throw_error(errc::bad_snapshot, stage,
                  std::to_string(parts) + " of " + std::to_string(merged.world_size)
                      + " parts, without lane " + std::to_string(lane) + " of rank "
                      + std::to_string(lane % merged.world_size),
                  "the parts of all ranks");
    found.push_back(*next);
  }
  return found;
}

/// The lanes of the job's rank.
lane_states own_lanes(const char* stage, const rank_job& job, const snapshot& merged,
                      std::size_t parts) {
  return lanes_of_parts(stage, job.plan->shape.lanes, merged, parts, job.rank, job.world_size);
}

/// The states that the rank's lanes resume from; null where they begin.
std::shared_ptr<const lane_states> restored_lanes(const rank_job& job, const snapshot& merged,
                                                  std::size_t parts, const job_position& next) {
  if (job.plan->shape.is_indexed)
    return nullptr;
  auto mine = std::make_shared<lane_states>(own_lanes("restore", job, merged, parts));
  job.records->restored(next, *mine);
  return mine->empty() ? nullptr : std::move(mine);
}

/// If a difference that was allowed may change the fields, they are learned again, which takes the
/// states of all lanes.
once_fields restored_fields(const rank_job& job, const snapshot& merged, std::size_t parts,
                            const job_position& next) {
  if (!job.records->has_feeds())
    return {};
  const auto differs = compare(merged, job.facts);
  const bool may_change = std::any_of(differs.begin(), differs.end(), [](const difference& x) {
    return x.name == "maps" || x.name == "fields" || x.name == "enumerate" || x.name == "reading";
  });
  if (!may_change && !merged.fields.empty())
    return {merged.fields, {}, {}};
  return {{}, next, lanes_of_parts("restore", job.plan->shape.lanes, merged, parts, 0, 1)};
}

job_position restored_position(const rank_job& job, const snapshot& merged) {
  const auto& shape = job.plan->shape;
  const job_position next{merged.epoch, step_for(merged, job.facts)};
  if (shape.has_length() && next.step >= shape.batches())
    return {next.epoch + 1, 0}; // if another batch size was allowed
  return next;
}

job_progress restored_progress(const rank_job& job, const std::vector<snapshot>& parts,
                               const snapshot& merged) {
  job_progress at{.next = restored_position(job, merged),
                  .global_step = merged.global_step,
                  .is_resumed = true};
  // One part of the same world may be each rank's own, or one for all: a rank cannot tell, so it
  // continues that run in both cases. Otherwise rank 0 takes over the sums of all.
  const bool goes_on = parts.size() == 1 && parts[0].world_size == job.world_size;
  if (goes_on ? parts[0].rank == job.rank : job.rank == 0)
    at.sums = goes_on ? parts[0].sums : merged.sums;
  else
    at.sums.partial = goes_on;
  at.began = goes_on ? parts[0].began : merged.global_step;
  at.lanes = restored_lanes(job, merged, parts.size(), at.next);
  return at;
}

void check_pipeline(const char* stage, const snapshot& taken, const rank_job& job) {
  for (const auto& x : compare(taken, job.facts))
    if (!x.can_allow)
      throw_error(errc::mismatch, stage, x.text, "a snapshot that this pipeline can resume from");
}

/// An earlier process has saved what the job resumed from.
void hold_records(const rank_job& job) {
  if (job.records->has_feeds())
    job.records->found_saved(job.at.next, job.at.lanes ? *job.at.lanes : lane_states{});
}

} // namespace

void resume(rank_job& job, const std::vector<snapshot>& parts, bool complete,
            const std::vector<std::string>& allow) {
  const auto merged = merge(parts, complete);
  for (const auto& part : parts)
    check(part, job.facts, allow); // they may have read different versions of files
  check_position(merged, job.plan->shape, compare(merged, job.facts).empty());
  const auto& feeds = job.plan->samples->feeds;
  for (std::size_t i = 0; i < std::min(feeds.size(), merged.feeds.size()); ++i)
    if (merged.feeds[i] != hash128{})
      feeds[i]->expect(merged.feeds[i]);
  auto left_out = job.left_out.restored(merged.left_out, merged.global_step);
  // Counts of no more inputs of mixes than there are.
  (void)mixes_of(job.facts.root, merged.sums.given, true, 0, {});
  check_restored(merged.weights, *job.plan->samples, job.plan->shape);
  auto weights = job.weights.restored(merged.weights, merged.global_step);
  auto at = restored_progress(job, parts, merged);
  auto fields = restored_fields(job, merged, parts.size(), at.next);
  auto plan = job.plan;
  if (job.records->has_feeds()) {
    auto without_layout = *plan;
    without_layout.layout = nullptr;
    plan = std::make_shared<const job_plan>(std::move(without_layout));
  }
  job.bad_log.cut(at.next.epoch, at.next.step, job.rank, job.world_size);
  // From here on nothing throws: a resume that fails leaves the job where it stood.
  job.plan = std::move(plan);
  job.at = std::move(at);
  job.fields = std::move(fields);
  job.left_out = std::move(left_out);
  job.weights = std::move(weights);
}

bool resume(rank_job& job, const std::string& path, const std::vector<std::string>& allow,
            bool allow_older) {
  auto found = stored_snapshot(path, allow_older);
  for (const auto& text : found.skipped)
    notice("snapshot: " + path + ": skipped " + text);
  if (!found) {
    job.bad_log.cut(0, 0, job.rank, job.world_size); // the job starts over
    return false;
  }
  resume(job, found.parts, true, allow);
  hold_records(job);
  return true;
}

void resume_at(rank_job& job, const std::string& directory, const job_position& place,
               bool own_part_alone, const std::vector<std::string>& allow) {
  if (own_part_alone) {
    const job_file_reader file{directory, {place.epoch, place.step, job.world_size}};
    resume(job, {file.part(job.rank)}, false, allow);
  } else {
    const auto found = snapshot_store{directory}.at(place);
    if (!found)
      throw_file_error(errc::not_found, "restore", directory,
                       "no complete set at epoch " + std::to_string(place.epoch) + " step "
                           + std::to_string(place.step),
                       "the set from which all ranks begin");
    resume(job, found.parts, true, allow);
  }
  hold_records(job);
}

/// Keeps what the parts of one step need for the rank's lanes.
void keep(const rank_job& job, const std::vector<snapshot>& parts) {
  if (!job.records->has_feeds())
    return;
  const auto merged = merge(parts, false);
  check_pipeline("keep", merged, job);
  const auto mine = own_lanes("keep", job, merged, parts.size());
  job.records->keep({merged.epoch, merged.step}, mine);
}

/// Parts of one step count once, as in keep().
void let_go(const rank_job& job, const std::vector<snapshot>& parts) {
  if (!job.records->has_feeds())
    return;
  std::set<job_position> places;
  for (const auto& x : parts) {
    check_pipeline("let_go", x, job); // another one's place may be that of a kept snapshot
    places.insert({x.epoch, x.step});
  }
  for (const auto& place : places)
    job.records->let_go(place, job.at.next, job.at.lanes ? *job.at.lanes : lane_states{});
}

} // namespace leat
