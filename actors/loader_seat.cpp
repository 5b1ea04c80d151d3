#include "actors/loader_seat.hpp"

#include "actors/cluster/rank_config.hpp"
#include "actors/loader_checks.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/snapshot/snapshot_names.hpp"

#include <leat/notice.hpp>

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

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

} // namespace

loader_seat::loader_seat(const pipeline& data, loader_options options)
    : number_(next_number()), data_(data), options_(std::move(options)) {
  if (options_.cluster) {
    set_ranks(options_);
    asked_ = std::move(options_.while_waiting);
    options_.while_waiting = [this] { // so small that it is copied without allocating, per batch
      if (is_interrupted_ || (job_ && job_->is_asked_to_end())
          || (cluster_ && cluster_->has_changed()))
        return false;
      return asked_ ? asked_() : outer_caller_lasts();
    };
  }
  const patience waits{options_.while_waiting};
  job_ = make_job();
}

loader_seat::~loader_seat() {
  if (!is_here())
    return;
  replace_job(nullptr);
  if (!cluster_)
    return;
  try {
    const patience waits{
        [left = beats_for_others]() mutable { return left-- > 0 && outer_caller_lasts(); },
        options_.cluster->beat};
    if (has_ended_ && !failure_) {
      cluster_->finish();
      cluster_->wait_until_over();
    }
  } catch (const error&) {
    notice("cluster: rank " + std::to_string(options_.rank)
           + " has had all batches and leaves; other ranks have not");
  }
  tell_not_stored();
}

void loader_seat::tell_not_stored() const {
  if (!has_seat_)
    return;
  try {
    cluster_->check_stored();
  } catch (const error& problem) {
    notice(std::string{"loader: a snapshot was not saved: "} + problem.what());
  }
}

std::shared_ptr<loader_job> loader_seat::make_job() {
  auto options = options_;
  if (options.cluster)
    options.while_waiting = {}; // asked here, around each call of the job
  auto job = std::make_shared<loader_job>(data_, std::move(options), number_);
  for (const auto& x : left_out_)
    job->leave_out(x);
  for (const auto& x : weights_)
    job->set_weights(x);
  has_moved_ = false;
  return job;
}

void loader_seat::replace_job(std::shared_ptr<loader_job> by) noexcept {
  {
    const mutex_lock lock{mutex_};
    job_.swap(by);
  }
  loader_job::end(std::move(by));
  if (is_interrupted_ && job_)
    job_->interrupt(); // the call did not find this one
}

std::shared_ptr<loader_job> loader_seat::shared_job() const {
  const mutex_lock lock{mutex_};
  return job_;
}

void loader_seat::check_runtime() const {
  if (job_)
    job_->check_runtime();
}

loader_job& loader_seat::job() const {
  if (!job_)
    throw error(errc::interrupted, {.stage = "cluster",
                                    .got = "a loader that waits for its ranks to begin anew",
                                    .needed = "next(), which waits for them"});
  return *job_;
}

loader_job& loader_seat::lone_job(const char* stage) const {
  if (options_.cluster)
    refuse_argument(stage, "a loader of a cluster", "restore() or resume_at()");
  return *job_;
}

// -- seats

void loader_seat::join() {
  if (!options_.cluster || has_seat_ || is_over_)
    return;
  if (failure_)
    throw error(*failure_);
  const patience waits{options_.while_waiting};
  try {
    if (!cluster_)
      cluster_ = std::make_shared<cluster_rank>(config_for(options_, job().job()));
    // Again where an earlier call was interrupted: restore() may have come since.
    cluster_->want(sets_, wanted_start_);
    sit();
  } catch (const patience_ended&) {
    throw; // it may be called again
  } catch (...) {
    const auto problem = error_in_flight(errc::cluster, {.stage = "cluster"});
    if (!cluster_)
      throw;
    cluster_->fail(problem.what());
    fail(problem);
  }
}

void loader_seat::sit() {
  while (!has_seat_ && !is_over_) {
    const auto seat = cluster_->take_seat();
    if (!seat) {
      is_over_ = true;
      notice("cluster: this job is over; for another one use another state directory, or name it "
             "(LEAT_CLUSTER_JOB)");
      return;
    }
    try {
      stand_at(*seat);
    } catch (const error& x) {
      if (!cluster_->has_changed())
        throw;
      if (x.code() != errc::interrupted)
        notice(std::string{"cluster: "} + x.what()); // the set may be gone with its term
    }
  }
}

void loader_seat::stand_at(const cluster_seat& seat) {
  const bool fits = options_.rank == seat.rank && options_.world_size == seat.world_size;
  options_.rank = seat.rank;
  options_.world_size = seat.world_size;
  if (!job_ || has_moved_ || !fits) {
    replace_job(nullptr); // before another one reads the same records
    auto job = make_job();
    replace_job(std::move(job));
  }
  job_->meet(cluster_);
  cluster_->wait_for_lease(); // one that was stopped for long must not cut logs now
  has_moved_ = true;
  if (seat.start)
    job_->restore_at(sets_, *seat.start, seat.start_is_of_term, restore_options_);
  const auto at = job_->position();
  cluster_->begin({at.epoch, at.step}, at.global_step);
  must_resume_ = seat.has_come_back;
  has_resumed_ = false;
  has_ended_ = false;
  has_seat_ = true;
  has_joined_ = true;
  notice("cluster: term " + std::to_string(cluster_->term()) + ": rank " + std::to_string(seat.rank)
         + " of " + std::to_string(seat.world_size) + " begins at " + place_text(at)
         + (cluster_->reason().empty() ? "" : ": " + cluster_->reason()));
}

void loader_seat::fail(const error& problem) {
  failure_ = problem;
  cluster_->leave(); // whoever catches it may keep this loader for long
  throw error(problem);
}

/// An elastic job may end without a process that had a seat before: that stands where one does
/// which comes too late.
void loader_seat::end_without_seat() {
  if (!options_.cluster->is_elastic())
    fail(error(errc::cluster, {.stage = "cluster",
                               .got = "a job that has ended without this rank",
                               .needed = "all ranks up to the last batch"}));
  replace_job(make_job());
  if (!sets_.empty())
    job_->restore(sets_, restore_options_);
  throw error(errc::regrouped, {.stage = "cluster",
                                .got = "a job that has ended on other ranks",
                                .needed = "next(), which has no batches any more"});
}

void loader_seat::regroup() {
  try {
    if (has_seat_)
      cluster_->check();
    has_seat_ = false;
    replace_job(nullptr);
    sit();
  } catch (const patience_ended&) {
    throw;
  } catch (...) {
    const auto problem = error_in_flight(errc::cluster, {.stage = "cluster"});
    cluster_->fail(problem.what());
    fail(problem);
  }
  if (is_over_)
    end_without_seat();
  throw error(errc::regrouped,
              {.stage = "cluster",
               .got = cluster_->reason(),
               .needed = has_come_back()
                             ? "resume_at(), with the step of the job at which its trainer goes on"
                             : "the weights of " + place_text(job_->position()) + ", then next()"});
}

// -- before the first batch

std::optional<resume_point> loader_seat::restore(const std::string& path,
                                                 const restore_options& options) {
  if (!options_.cluster)
    return job_->restore(path, options);
  if (has_seat_)
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
  if (is_over_) {
    const patience waits{options_.while_waiting};
    return job_->restore(path, options);
  }
  const auto at = job().position();
  return at.global_step == 0 && at.epoch == 0 && at.step == 0 ? std::nullopt : std::optional{at};
}

void loader_seat::resume_at(std::uint64_t global_step) {
  if (!options_.cluster)
    refuse_argument("resume_at", "a loader without a cluster", "skip_first_batches()");
  join();
  if (is_over_)
    return;
  const auto at = job().position();
  if (global_step < at.global_step)
    refuse_argument("resume_at", "step " + std::to_string(global_step),
                    "a step at or after " + place_text(at));
  must_resume_ = has_seat_ && global_step > at.global_step; // also if this is interrupted
  // Made once more: sums and bad samples are then those of the rank that was lost.
  while (job().position().global_step < global_step)
    if (!next_batch())
      refuse_argument("resume_at", "step " + std::to_string(global_step),
                      "a step at or before " + place_text(job().position())
                          + ", where the job ends");
  must_resume_ = false;
  has_resumed_ = true;
}

void loader_seat::leave_out(const step_range& steps) {
  job().leave_out(steps);
  left_out_.push_back(steps);
}

void loader_seat::set_weights(const std::vector<double>& weights,
                              std::optional<std::uint64_t> from) {
  auto& job = this->job();
  if (!from && (options_.cluster || options_.world_size > 1))
    refuse_argument("set_weights", "no step, and several ranks",
                    "the step from which the weights hold, the same on all ranks");
  if (options_.cluster && job.has_begun())
    refuse_argument("set_weights", "a loader of a cluster that has begun",
                    "a call on all ranks before the first next()");
  const weight_change change{from.value_or(job.position().global_step), weights};
  job.set_weights(change);
  weights_.push_back(change);
}

// -- batches

lease loader_seat::next() {
  if (!options_.cluster)
    return job_->next();
  if (failure_)
    throw error(*failure_);
  if (!has_joined_)
    join();
  if (has_come_back())
    throw error(errc::invalid_argument,
                {.stage = "next",
                 .got = "rank " + std::to_string(options_.rank)
                        + ", which has come back while the others went on",
                 .needed = "resume_at(), with the step of the job at which its trainer goes on"});
  return next_batch();
}

lease loader_seat::next_batch() {
  const patience waits{options_.while_waiting};
  if (is_over_)
    return {};
  if (!has_seat_)
    regroup();
  try {
    return next_in_seat();
  } catch (const patience_ended&) {
    check_runtime();
    if (!cluster_->has_changed())
      throw;
  } catch (const error& x) {
    if (!job_->has_failed())
      throw;
    cluster_->fail(x.what());
    fail(x);
  }
  regroup();
}

lease loader_seat::next_in_seat() {
  if (!cluster_->may_go_on())
    throw patience_ended{};
  cluster_->move_on(
      {job_->behind(), job_->position().global_step, job_->samples(), job_->waited()});
  hear_stored();
  auto batch = job_->next();
  if (!batch && !has_ended_) {
    cluster_->wait_for_lease(); // the end is handed over like a batch
    has_ended_ = true;
  }
  return batch;
}

void loader_seat::hear_stored() {
  const auto& records = job_->job().records;
  if (!records->has_feeds())
    return;
  const auto newest = cluster_->stored();
  if (!newest || (!stored_.empty() && stored_.back() >= *newest))
    return;
  stored_.push_back(*newest);
  if (stored_.size() <= options_.keep)
    return;
  stored_.erase(stored_.begin());
  records->kept_from(sets_, stored_.front());
}

// -- sets

void loader_seat::save(const std::string& directory, const job_progress& at, const lease_desk* of) {
  auto& job = this->job();
  if (of && !job.has_lent(of))
    refuse_batch("save", *of, at, job.job(), options_.cluster.has_value());
  if (!options_.cluster)
    return job.save(directory, job.job().snapshot_at(at));
  const auto wanted = fs::absolute(directory).lexically_normal().string();
  if (!cluster_ || wanted.substr(0, sets_.size()) != sets_
      || wanted.find_first_not_of('/', sets_.size()) != std::string::npos)
    refuse_argument(
        "save", directory + ", and restore() was given " + (sets_.empty() ? "no directory" : sets_),
        "in a cluster, the directory that restore() was called with, even if it was "
        "empty then");
  cluster_->check_stored();
  const auto& records = job.job().records;
  if (records->has_feeds())
    records->saving(sets_, at.next, at.lanes ? *at.lanes : lane_states{});
  cluster_->save(at.next, job.job().encoded_at(at));
}

std::string loader_seat::snapshot_after(const job_progress& at, const lease_desk& of) const {
  if (!job().has_lent(&of))
    refuse_batch("snapshot", of, at, job().job(), options_.cluster.has_value());
  return of.encoded_at(at);
}

template <class Wait>
void loader_seat::wait_in_seat(Wait wait) {
  try {
    wait();
  } catch (const patience_ended&) {
    if (!cluster_->has_changed())
      throw;
    regroup();
  }
}

void loader_seat::wait_saved() {
  if (!cluster_)
    return job().wait_saved();
  const patience waits{options_.while_waiting};
  if (!has_seat_)
    return;
  wait_in_seat([&] { cluster_->wait_stored(); });
  cluster_->check_stored();
}

void loader_seat::finish() {
  if (!options_.cluster)
    return job_->wait_saved();
  if (failure_)
    throw error(*failure_);
  if (is_over_)
    return;
  if (!has_ended_)
    refuse_argument("finish", "a loader with batches left", "next() up to the end");
  const patience waits{options_.while_waiting};
  cluster_->finish();
  wait_in_seat([&] { cluster_->wait_until_over(); });
  cluster_->check_stored();
}

std::optional<attempt_start> loader_seat::attempt() const {
  if (is_over_)
    return std::nullopt;
  auto start = job().job().attempt();
  if (has_seat_)
    start.term = cluster_term();
  start.continues = has_resumed_ && options_.cluster->on_rank_loss == rank_loss::alone;
  return start;
}

// -- any thread

loader_stats loader_seat::stats() const {
  const auto job = shared_job();
  return job ? job->stats() : loader_stats{};
}

void loader_seat::interrupt() noexcept {
  is_interrupted_ = true;
  if (const auto job = shared_job())
    job->interrupt();
}

} // namespace leat
