#include "tools/leat/training_job.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/pipeline_facts.hpp>
#include <leat/snapshot.hpp>

#include "tools/leat/run_log.hpp"
#include "tools/leat/token_field.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace leat::command {

namespace {

std::optional<std::uint64_t> steps_of(const loader_options& x,
                                      const std::optional<std::uint64_t>& batches_per_epoch) {
  const auto given = x.steps == UINT64_MAX ? std::nullopt : std::optional{x.steps};
  if (!batches_per_epoch)
    return given;
  const auto all = *batches_per_epoch * x.epochs;
  return given ? std::min(*given, all) : all;
}

} // namespace

training_job::training_job(const pipeline& data, training_settings settings)
    : settings_(std::move(settings)), token_field_(token_field(operators_of(data))),
      ranks_(data, settings_.loader, settings_.ranks) {
  begin();
  open_log();
}

/// Moves all loaders to where the job begins or resumes.
void training_job::begin() {
  if (settings_.is_clustered())
    join();
  else if (settings_.resume)
    restore();
  if (!resumed_at_ && settings_.first_epoch != 0)
    for (auto& x : ranks_.loaders())
      x.seek(settings_.first_epoch, 0);
  if (!settings_.is_clustered())
    tell_changes();
  note_position();
  if (!settings_.is_clustered())
    saved_ = progress_.global_step;
  progress_.total_steps = steps_of(settings_.loader, ranks_.front().batches_per_epoch());
}

void training_job::tell_changes() {
  for (auto& x : ranks_.loaders()) {
    for (const auto& steps : settings_.left_out)
      x.leave_out_steps(steps.first, steps.last);
    for (const auto& change : settings_.weights)
      x.set_weights(change.weights, change.step);
  }
}

void training_job::join() {
  auto& mine = ranks_.front();
  tell_changes(); // all ranks must agree on these when they join
  if (settings_.snapshot_dir.empty())
    mine.join();
  else
    resumed_at_ = mine.restore(settings_.snapshot_dir, settings_.restore);
  saved_ = mine.position().global_step; // the log may be ahead, but nothing after this is saved
  resume_from_log();
}

/// Continues where this rank's log ends, if the others did not stop.
void training_job::resume_from_log() {
  auto& mine = ranks_.front();
  if (mine.has_come_back())
    mine.resume_at(mine.position().global_step
                   + steps_in_log(settings_.log, mine.position(), mine.cluster_term()));
}

void training_job::note_position() {
  const auto here = ranks_.front().position();
  progress_.epoch = here.epoch;
  progress_.step = here.step;
  progress_.global_step = here.global_step;
  progress_.digest = ranks_.digest(); // there may be no further batch to update it
}

/// Reads the snapshot set once, for all loaders.
void training_job::restore() {
  const auto found =
      newest_snapshot(settings_.snapshot_dir, {.allow_older = settings_.restore.allow_older});
  skipped_ = found.skipped;
  if (!found) {
    for (auto& x : ranks_.loaders())
      x.seek(0, 0); // cuts the bad-sample log, as a restore would: its samples come again
    return;
  }
  for (auto& x : ranks_.loaders())
    resumed_at_ = x.restore_parts(found.parts, settings_.restore);
}

void training_job::open_log() {
  if (!settings_.log.empty())
    log_.emplace(settings_.log, ranks_.front(),
                 run_log_options{.program = "run",
                                 .all_ranks = !settings_.is_clustered()
                                              && settings_.ranks == settings_.loader.world_size});
}

void training_job::run(const std::function<void(const training_progress&)>& watch) {
  began_ = clock::now();
  for (bool has_ended = false; !has_ended;)
    try {
      train(watch);
      end();
      has_ended = true;
    } catch (const error& problem) {
      if (problem.code() != errc::regrouped)
        throw;
      go_back();
    }
  progress_.elapsed = clock::now() - began_;
}

void training_job::go_back() {
  ranks_.forget_steps();
  resume_from_log();
  note_position();
  saved_ = progress_.global_step;
  open_log();
}

void training_job::train(const std::function<void(const training_progress&)>& watch) {
  for (auto before = progress_.global_step; !is_to_stop_ && !progress_.is_done() && hand_over();
       before = progress_.global_step) {
    if (settings_.step_time.count() > 0)
      std::this_thread::sleep_for(settings_.step_time);
    const auto every = settings_.snapshot_every;
    if (!settings_.snapshot_dir.empty() && progress_.global_step / every != before / every)
      save();
    ranks_.end_step();
    progress_.elapsed = clock::now() - began_;
    watch(progress_);
  }
}

void training_job::end() {
  if (settings_.is_clustered() && is_to_stop_)
    return; // the others continue, so there is no set of all ranks at this step
  if (settings_.is_clustered() && ranks_.front().next())
    refuse_argument("run", "a batch after the last step", "none");
  if (!settings_.snapshot_dir.empty() && saved_ != progress_.global_step)
    save();
  for (auto& x : ranks_.loaders())
    x.finish();
}

void training_job::request_stop() {
  is_to_stop_ = true;
  ranks_.interrupt();
}

void training_job::resize_if_due() {
  const auto& resizes = settings_.resizes;
  for (; next_resize_ < resizes.size() && resizes[next_resize_].step <= progress_.global_step;
       ++next_resize_)
    for (auto& x : ranks_.loaders())
      x.resize_workers(resizes[next_resize_].workers);
}

bool training_job::hand_over() {
  resize_if_due();
  const auto asked = clock::now();
  const bool all_have_it = ranks_.next();
  progress_.waited += clock::now() - asked;
  if (!all_have_it)
    return false;
  note_position();
  const auto& leases = ranks_.leases();
  if (!leases.front())
    return false;
  for (const auto& x : leases) {
    const auto& part = *x;
    if (log_)
      log_->append(part);
    progress_.samples += part.valid_rows();
    progress_.tokens += tokens_in(part, token_field_);
  }
  if (!progress_.first_batch)
    progress_.first_batch = clock::now() - constructed_;
  return true;
}

void training_job::save() {
  ranks_.save(settings_.snapshot_dir);
  saved_ = progress_.global_step;
}

} // namespace leat::command
