#include "actors/cluster/shared_seat.hpp"

#include "actors/cluster/rank_config.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/job/resume.hpp"
#include "runtime/snapshot/snapshot_names.hpp"

#include <leat/notice.hpp>
#include <leat/patience.hpp>

#include <filesystem>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

/// Beats for which a loader that is destroyed waits for the other ranks' last batches.
constexpr int beats_for_others = 60;

std::string place_text(const resume_point& x) {
  return "epoch " + std::to_string(x.epoch) + " step " + std::to_string(x.step) + ", step "
         + std::to_string(x.global_step) + " of the job";
}

loader_options with_ranks(loader_options x) {
  set_ranks(x);
  x.while_waiting = {}; // this seat asks it, around each call of the job
  return x;
}

void wait_for_lease(membership& x) {
  x.wait([](const member& of, member::time now) { return of.has_lease(now); });
}

/// Who makes the rows of a job, and where it meets feeds.
maker_note makers_of(const loader_job& job, const loader_feeds& feeds) {
  auto makers = job.makers();
  makers.feeds_at = feeds.address();
  makers.serves = feeds.serves();
  return makers;
}

std::string reason_of(membership& x) {
  return x.look(&member::reason);
}

} // namespace

shared_seat::shared_seat(const pipeline& data, loader_options options)
    : loader_seat(data, with_ranks(options)), asked_(std::move(options.while_waiting)),
      lasts_([this] { // so small that it is copied without allocating, per batch
        if (current_.is_interrupted() || (rank_ && rank_->place()->has_changed()))
          return false;
        return asked_ ? asked_() : outer_caller_lasts();
      }) {}

shared_seat::~shared_seat() {
  current_.end();
  if (!rank_)
    return;
  try {
    const patience waits{
        [left = beats_for_others]() mutable { return left-- > 0 && outer_caller_lasts(); },
        options_.cluster->beat};
    if (has_ended_ && !failure_) {
      rank_->finish();
      rank_->wait_until_over();
    }
  } catch (const error&) {
    notice("cluster: rank " + std::to_string(options_.rank)
           + " has had all batches and leaves; other ranks have not");
  }
  if (where_ != where::seated)
    return;
  try {
    check_stored();
  } catch (const error& problem) { // no call is left to throw it
    notice(std::string{"loader: a snapshot was not saved: "} + problem.what());
  }
}

void shared_seat::begin() {
  const patience waits{lasts_};
  current_.make(options_);
}

// -- seats

void shared_seat::join() {
  if (where_ == where::seated || where_ == where::job_is_over)
    return;
  if (failure_)
    throw error(*failure_);
  const patience waits{lasts_};
  try {
    if (!rank_)
      rank_ = std::make_unique<cluster_rank>(config_for(options_, job().job()));
    // Also if an earlier call was interrupted: restore() may have been called since.
    rank_->place()->state([&](member& x) { x.want(sets_, wanted_start_); });
    sit();
  } catch (const patience_ended&) {
    throw; // it may be called again
  } catch (...) {
    if (!rank_)
      throw;
    fail(error_in_flight(errc::cluster, {.stage = "cluster"}));
  }
}

void shared_seat::sit() {
  auto& place = *rank_->place();
  for (;;) {
    const auto seat = place.take_seat(options_.cluster->join_within);
    if (!seat) {
      where_ = where::job_is_over;
      notice("cluster: this job is over; for another one use another state directory, or name it "
             "(LEAT_CLUSTER_JOB)");
      return;
    }
    told_store_failures_ = place.look(&member::store_failures);
    try {
      return stand_at(*seat);
    } catch (const error& x) {
      if (!place.has_changed())
        throw;
      if (x.code() != errc::interrupted)
        notice(std::string{"cluster: "} + x.what()); // the set may have been removed with its term
    }
  }
}

void shared_seat::stand_at(const cluster_seat& seat) {
  const bool fits = options_.rank == seat.rank && options_.world_size == seat.world_size;
  options_.rank = seat.rank;
  options_.world_size = seat.world_size;
  if (!current_.exists() || has_moved_ || !fits) {
    has_moved_ = false;
    held_.clear();
    current_.make(options_);
  }
  auto& job = this->job();
  auto& place = *rank_->place();
  job.meet(rank_->place());
  wait_for_lease(place); // a process that was stopped for long must not cut logs now
  has_moved_ = true;
  if (seat.start)
    job.restore([&](rank_job& x) {
      leat::resume_at(x, sets_, *seat.start, seat.start_is_of_term, restore_options_.allow);
      return true;
    });
  feeds_.listen(options_, rank_->place()); // once it is known which records it resumes with
  feeds_.serve(options_, rank_->place());
  place.set_feeds(feeds_.progress());
  place.made_by(makers_of(job, feeds_));
  const auto at = job.job().position();
  place.state_in_seat([&](member& x) { x.begin({at.epoch, at.step}, at.global_step); });
  must_resume_ = seat.has_come_back;
  has_resumed_ = false;
  has_ended_ = false;
  feeds_.finish(false);
  where_ = where::seated;
  const auto why = reason_of(place);
  notice("cluster: term " + std::to_string(place.term()) + ": rank " + std::to_string(seat.rank)
         + " of " + std::to_string(seat.world_size) + " begins at " + place_text(at)
         + (why.empty() ? "" : ": " + why));
}

void shared_seat::fail(const error& problem) {
  failure_ = problem;
  rank_->place()->state_in_seat([&](member& x) { x.fail(problem.what()); });
  rank_->leave(); // the caller may keep this loader for long
  throw error(problem);
}

void shared_seat::regroup() {
  try {
    if (where_ == where::seated)
      rank_->place()->check();
    where_ = where::unseated;
    current_.end();
    sit();
  } catch (const patience_ended&) {
    throw;
  } catch (...) {
    fail(error_in_flight(errc::cluster, {.stage = "cluster"}));
  }
  if (where_ == where::job_is_over) {
    if (!options_.cluster->is_elastic())
      fail(error(errc::cluster, {.stage = "cluster",
                                 .got = "a job that has ended without this rank",
                                 .needed = "all ranks up to the last batch"}));
    // An elastic job may end without a process that had a seat before: its loader then stands where
    // that of a latecomer does.
    current_.make(options_);
    if (!sets_.empty())
      loader_seat::restore(sets_, restore_options_);
    throw_error(errc::regrouped, "cluster", "a job that has ended on other ranks",
                "next(), which has no batches any more");
  }
  throw_error(errc::regrouped, "cluster", reason_of(*rank_->place()),
              facts().has_come_back
                  ? "resume_at(), with the step of the job at which its trainer goes on"
                  : "the weights of " + place_text(job().job().position()) + ", then next()");
}

// -- before the first batch

std::optional<resume_point> shared_seat::restore(const std::string& path,
                                                 const restore_options& options) {
  if (where_ == where::seated)
    refuse_argument("restore", "a loader that has its seat", "one call before the first next()");
  const auto absolute = fs::absolute(path).lexically_normal();
  if (const auto set = parse_set_name(absolute.filename().string())) {
    sets_ = absolute.parent_path().string();
    wanted_start_ = job_position{set->epoch, set->step};
  } else {
    sets_ = absolute.string();
  }
  while (sets_.size() > 1 && sets_.back() == '/')
    sets_.pop_back();
  restore_options_ = options;
  join();
  if (where_ == where::job_is_over) {
    const patience waits{lasts_};
    return loader_seat::restore(path, options);
  }
  const auto at = job().job().position();
  return at.global_step == 0 && at.epoch == 0 && at.step == 0 ? std::nullopt : std::optional{at};
}

void shared_seat::resume_at(std::uint64_t global_step) {
  join();
  if (where_ == where::job_is_over)
    return;
  const auto at = job().job().position();
  if (global_step < at.global_step)
    refuse_argument("resume_at", "step " + std::to_string(global_step),
                    "a step at or after " + place_text(at));
  must_resume_ =
      where_ == where::seated && global_step > at.global_step; // also if this is interrupted
  // Makes the batches once more, so that sums and bad samples are those of the rank that was lost.
  while (job().job().position().global_step < global_step)
    if (!next_batch())
      refuse_argument("resume_at", "step " + std::to_string(global_step),
                      "a step at or before " + place_text(job().job().position())
                          + ", where the job ends");
  must_resume_ = false;
  has_resumed_ = true;
}

// -- batches

seat_facts shared_seat::facts() const noexcept {
  const bool is_seated = where_ == where::seated;
  return {.term = is_seated ? rank_->place()->term() : 0,
          .has_come_back = is_seated && must_resume_,
          .has_resumed = has_resumed_,
          .is_over = where_ == where::job_is_over};
}

lease shared_seat::next() {
  if (failure_)
    throw error(*failure_);
  if (where_ == where::outside)
    join();
  if (facts().has_come_back)
    refuse_argument("next",
                    "rank " + std::to_string(options_.rank)
                        + ", which has come back while the others went on",
                    "resume_at(), with the step of the job at which its trainer goes on");
  return next_batch();
}

lease shared_seat::next_batch() {
  const patience waits{lasts_};
  if (where_ == where::job_is_over)
    return {};
  if (where_ != where::seated)
    regroup();
  try {
    return next_in_seat();
  } catch (const patience_ended&) {
    current_.check_runtime();
    if (!rank_->place()->has_changed())
      throw;
  } catch (const error& x) {
    if (!job().has_failed())
      throw;
    fail(x);
  }
  regroup();
}

lease shared_seat::next_in_seat() {
  auto& place = *rank_->place();
  if (const auto version = place.version(); version != checked_version_) {
    rank_->coordinate_again();
    if (place.has_changed())
      throw patience_ended{};
    check_stored();
    checked_version_ = version;
  }
  auto& job = this->job();
  const auto& mine = job.job();
  const auto& counts = *job.engine().metrics();
  place.move_on({.saves_from = oldest_held(mine.at.next),
                 .global_step = mine.at.global_step,
                 .rows = counts.samples.get(),
                 .waited = counts.waits.sum()});
  place.made_by(makers_of(job, feeds_));
  if (mine.records->has_feeds())
    if (const auto newest = place.look(&member::stored))
      mine.records->heard_stored(sets_, *newest, place.look(&member::keep));
  auto batch = job.next();
  if (batch) {
    held_.emplace_back(batch.batch_.after_);
  } else if (!has_ended_) {
    wait_for_lease(place); // the end, like a batch, is handed over only with a lease
    has_ended_ = true;
    feeds_.finish(true);
  }
  return batch;
}

job_position shared_seat::oldest_held(const job_position& otherwise) {
  if (held_.size() > 2 * options_.leases) // an older one is held for long
    std::erase_if(held_, [](const auto& x) { return x.expired(); });
  for (; !held_.empty(); held_.pop_front())
    if (const auto oldest = held_.front().lock())
      return oldest->next;
  return otherwise;
}

// -- sets

void shared_seat::save(const std::string& directory, const job_progress& at) {
  const auto& job = this->job().job();
  const auto wanted = fs::absolute(directory).lexically_normal().string();
  if (!rank_ || wanted.substr(0, sets_.size()) != sets_
      || wanted.find_first_not_of('/', sets_.size()) != std::string::npos)
    refuse_argument(
        "save", directory + ", and restore() was given " + (sets_.empty() ? "no directory" : sets_),
        "in a cluster, the directory that restore() was called with, even if it was empty then");
  check_stored();
  if (job.records->has_feeds())
    job.records->saving(sets_, at.next, at.lanes ? *at.lanes : lane_states{});
  auto part = std::make_shared<const std::string>(job.encoded_at(at));
  rank_->place()->state_in_seat([&](member& x) { x.save(at.next, std::move(part)); });
}

void shared_seat::check_stored() {
  std::optional<std::string> why;
  rank_->place()->look([&](const member& x) {
    if (x.store_failures() <= told_store_failures_)
      return;
    told_store_failures_ = x.store_failures();
    why = x.store_failure();
  });
  if (!why)
    return;
  throw_error(errc::io, "save", "a set that was not stored: " + *why,
              "a directory that the coordinator can write to");
}

template <class Wait>
void shared_seat::wait_in_seat(Wait wait) {
  try {
    wait();
  } catch (const patience_ended&) {
    if (!rank_->place()->has_changed())
      throw;
    regroup();
  }
  check_stored();
}

void shared_seat::wait_saved() {
  if (!rank_)
    return job().wait_saved();
  const patience waits{lasts_};
  if (where_ != where::seated)
    return;
  auto& place = *rank_->place();
  const auto wait_for_saved = [&](bool x) {
    place.state_in_seat([x](member& to) { to.wait_for_saved(x); });
  };
  wait_in_seat([&] {
    wait_for_saved(true);
    try {
      place.wait([](const member& x) { return x.saved().empty(); });
    } catch (...) {
      wait_for_saved(false);
      throw;
    }
    wait_for_saved(false);
  });
}

void shared_seat::finish() {
  if (failure_)
    throw error(*failure_);
  if (where_ == where::job_is_over)
    return;
  if (!has_ended_)
    refuse_argument("finish", "a loader with batches left", "next() up to the end");
  const patience waits{lasts_};
  rank_->finish();
  wait_in_seat([&] { rank_->wait_until_over(); });
}

} // namespace leat
