#include "tools/leat/training_job.hpp"

#include "runtime/base/threads/begin_thread.hpp"

#include <leat/order.hpp>
#include <leat/pipeline_facts.hpp>
#include <leat/snapshot.hpp>

#include "tools/leat/run_log.hpp"
#include "tools/leat/token_field.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <set>
#include <utility>
#include <variant>

namespace leat::command {

namespace {

/// Throws the first error that is not merely about the loss of another rank.
[[noreturn]] void rethrow_first_cause(const std::vector<std::exception_ptr>& problems) {
  std::exception_ptr first;
  for (const auto& x : problems) {
    if (!x)
      continue;
    if (!first)
      first = x;
    try {
      std::rethrow_exception(x);
    } catch (const error& problem) {
      if (problem.code() != errc::worker_lost || problem.details().stage != "agree")
        throw;
    }
  }
  std::rethrow_exception(first);
}

} // namespace

training_job::training_job(const pipeline& data, training_settings settings)
    : settings_(std::move(settings)), token_field_(token_field(operators_of(data))) {
  auto options = settings_.loader;
  if (settings_.ranks > 1)
    meeting_ = std::make_shared<rank_meeting>(settings_.ranks);
  for (std::uint64_t i = 0; i < settings_.ranks; ++i, ++options.rank) {
    if (meeting_)
      options.agree = [meeting = meeting_, rank = i](const epoch_agreement& mine) {
        return meeting->gather(rank, mine);
      };
    loaders_.emplace_back(data, options);
  }
  must_meet_ = meeting_ && epoch_of(data).needs_agreement();
  keeps_step_ = settings_.ranks > 1 && is_once(data);
  can_interrupt_ = settings_.ranks == 1 || keeps_step_;
  begin();
  open_log();
  digest_ = digest_of_ranks();
}

/// Moves all loaders to where the job begins or resumes.
void training_job::begin() {
  if (is_clustered())
    join();
  else if (settings_.resume)
    restore();
  if (!resumed_at_ && settings_.first_epoch != 0)
    for (auto& x : loaders_)
      x.seek(settings_.first_epoch, 0);
  if (!is_clustered())
    tell_changes();
  note_position();
  if (!is_clustered())
    saved_ = progress_.global_step;
  progress_.total_steps = steps_of_job();
}

void training_job::tell_changes() {
  for (auto& x : loaders_) {
    for (const auto& steps : settings_.left_out)
      x.leave_out_steps(steps.first, steps.last);
    for (const auto& change : settings_.weights)
      x.set_weights(change.weights, change.step);
  }
}

void training_job::join() {
  auto& mine = loaders_.front();
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
  auto& mine = loaders_.front();
  if (mine.has_come_back())
    mine.resume_at(mine.position().global_step + steps_in_log());
}

std::uint64_t training_job::steps_in_log() const {
  if (settings_.log.empty() || !std::filesystem::exists(settings_.log))
    return 0;
  const auto at = loaders_.front().position();
  std::set<std::pair<std::uint64_t, std::uint64_t>> steps;
  std::optional<std::uint64_t> term;
  log_reader log{settings_.log};
  while (const auto line = log.next())
    if (const auto* batch = std::get_if<batch_line>(&*line)) {
      if (std::pair{batch->epoch, batch->step} >= std::pair{at.epoch, at.step})
        steps.emplace(batch->epoch, batch->step);
    } else {
      const auto& start = std::get<attempt_start>(*line);
      const bool goes_back = start.continues || !start.term || start.term != term;
      const auto from = start.resumed_at.value_or(job_position{});
      if (goes_back) // all ranks did, or this one resumed where its trainer was
        steps.erase(steps.lower_bound({from.epoch, from.step}), steps.end());
      term = start.term;
    }
  // If the log does not end in this term, its process was killed before it wrote a header, and
  // handed over nothing in the term.
  return term == loaders_.front().cluster_term() ? steps.size() : 0;
}

void training_job::note_position() {
  const auto here = loaders_.front().position();
  progress_.epoch = here.epoch;
  progress_.step = here.step;
  progress_.global_step = here.global_step;
}

/// Reads the snapshot set once, for all loaders.
void training_job::restore() {
  const auto found =
      newest_snapshot(settings_.snapshot_dir, {.allow_older = settings_.restore.allow_older});
  skipped_ = found.skipped;
  if (!found) {
    for (auto& x : loaders_)
      x.seek(0, 0); // cuts the bad-sample log, as a restore would: its samples come again
    return;
  }
  for (auto& x : loaders_)
    resumed_at_ = x.restore_parts(found.parts, settings_.restore);
}

void training_job::open_log() {
  if (!settings_.log.empty())
    log_.emplace(settings_.log, loaders_.front(),
                 run_log_options{.program = "run",
                                 .all_ranks = !is_clustered()
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
  leases_.clear();
  next_leases_.clear();
  resume_from_log();
  note_position();
  digest_ = digest_of_ranks(); // there may be no further batch to update it
  saved_ = progress_.global_step;
  open_log();
}

void training_job::train(const std::function<void(const training_progress&)>& watch) {
  for (auto before = progress_.global_step; !is_to_stop_ && !finished() && hand_over();
       before = progress_.global_step) {
    if (settings_.step_time.count() > 0)
      std::this_thread::sleep_for(settings_.step_time);
    save_if_due(before);
    if (!keeps_step_)
      leases_.clear();
    progress_.elapsed = clock::now() - began_;
    watch(progress_);
  }
}

void training_job::end() {
  if (is_clustered() && is_to_stop_)
    return; // the others continue, so there is no set of all ranks at this step
  if (is_clustered() && loaders_.front().next())
    throw error(errc::invalid_argument,
                {.stage = "run", .got = "a batch after the last step", .needed = "none"});
  if (!settings_.snapshot_dir.empty() && saved_ != progress_.global_step)
    save();
  for (auto& x : loaders_)
    x.finish();
}

std::vector<loader_stats> training_job::stats() const {
  std::vector<loader_stats> result;
  for (const auto& x : loaders_)
    result.push_back(x.stats());
  return result;
}

hash128 training_job::digest_of_ranks() const {
  hash128 sum;
  for (const auto& x : loaders_)
    sum += x.position().digest;
  return sum;
}

std::uint64_t training_job::snapshot_bytes() const {
  std::uint64_t most = 0;
  try {
    for (const auto& x : loaders_)
      most = std::max<std::uint64_t>(most, x.snapshot().size());
  } catch (const error&) { // no snapshot is possible of records that no journal keeps
  }
  return most;
}

void training_job::request_stop() {
  is_to_stop_ = true;
  if (can_interrupt_)
    for (auto& x : loaders_)
      x.interrupt();
}

std::optional<std::uint64_t> training_job::steps_of_job() const {
  const auto batches = loaders_.front().batches_per_epoch();
  const auto steps = settings_.loader.steps;
  const auto given = steps == UINT64_MAX ? std::nullopt : std::optional{steps};
  if (!batches)
    return given;
  const auto all = *batches * settings_.loader.epochs;
  return given ? std::min(*given, all) : all;
}

void training_job::resize_if_due() {
  const auto& resizes = settings_.resizes;
  for (; next_resize_ < resizes.size() && resizes[next_resize_].step <= progress_.global_step;
       ++next_resize_)
    for (auto& x : loaders_)
      x.resize_workers(resizes[next_resize_].workers);
}

/// Gives every rank its part of the next step. False after the last step, or if the job was
/// stopped.
bool training_job::hand_over() {
  resize_if_due();
  const auto asked = clock::now();
  const bool all_have_it = next_of_all_ranks();
  progress_.waited += clock::now() - asked;
  if (!all_have_it)
    return false;
  leases_ = std::exchange(next_leases_, {});
  note_position();
  digest_ = digest_of_ranks();
  if (!leases_.front())
    return false;
  for (const auto& x : leases_) {
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

/// Asks the ranks one after the other, or concurrently in threads if they wait for each other.
std::vector<std::exception_ptr> training_job::ask_all_ranks() {
  next_leases_.resize(loaders_.size());
  std::vector<std::exception_ptr> problems(loaders_.size());
  auto next = [&](std::size_t i) {
    try {
      next_leases_[i] = loaders_[i].next();
    } catch (...) {
      problems[i] = std::current_exception();
      if (meeting_)
        meeting_->break_up();
    }
  };
  {
    joined_threads others;
    std::size_t i = 1;
    try {
      for (; must_meet_ && i < loaders_.size(); ++i)
        others.add("ranks", [&next, i] { next(i); });
    } catch (...) {
      problems[i] = std::current_exception();
      meeting_->break_up(); // ranks that have begun would wait for all
    }
    for (i = 0; i < (must_meet_ ? 1 : loaders_.size()); ++i)
      next(i);
  }
  return problems;
}

bool training_job::next_of_all_ranks() {
  const auto problems = ask_all_ranks();
  if (std::none_of(problems.begin(), problems.end(), [](const auto& x) { return x != nullptr; }))
    return true;
  // The rank that failed has the reason; the others report only that it is missing.
  try {
    rethrow_first_cause(problems);
  } catch (const error& problem) {
    if (problem.code() != errc::interrupted)
      throw;
  }
  return false;
}

void training_job::save_if_due(std::uint64_t step_before) {
  const auto every = settings_.snapshot_every;
  if (!settings_.snapshot_dir.empty() && progress_.global_step / every != step_before / every)
    save();
}

/// Saves the state after the last step that all ranks have.
void training_job::save() {
  for (std::size_t i = 0; i < loaders_.size(); ++i)
    if (i < next_leases_.size() && next_leases_[i]) // this rank is a step ahead of others
      loaders_[i].save(settings_.snapshot_dir, *leases_[i]);
    else
      loaders_[i].save(settings_.snapshot_dir);
  saved_ = progress_.global_step;
}

} // namespace leat::command
