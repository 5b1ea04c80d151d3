#include "actors/loader_seat.hpp"

#include "actors/cluster/shared_seat.hpp"
#include "actors/loader_checks.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/job/resume.hpp"

#include <utility>

namespace leat {

namespace {

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

} // namespace

loader_seat::loader_seat(const pipeline& data, loader_options options)
    : options_(std::move(options)), mark_{.number = next_number()}, data_(data) {}

std::unique_ptr<loader_seat> make_seat(const pipeline& data, loader_options options) {
  std::unique_ptr<loader_seat> made;
  if (options.cluster)
    made = std::make_unique<shared_seat>(data, std::move(options));
  else
    made = std::make_unique<loader_seat>(data, std::move(options));
  made->begin();
  return made;
}

void loader_seat::make_job() {
  end_job(); // before another one reads the same records
  auto job = std::make_shared<loader_job>(data_, options_, mark_);
  for (const auto& x : left_out_)
    job->job_to_begin("leave_out_steps").leave_out(x);
  for (const auto& x : weights_)
    job->set_weights(x);
  replace_job(std::move(job));
}

void loader_seat::replace_job(std::shared_ptr<loader_job> by) noexcept {
  {
    const mutex_lock lock{mutex_};
    job_.swap(by);
  }
  if (by) {
    auto& engine = by->engine();
    engine.leave(std::move(by));
  }
  if (is_interrupted_ && job_)
    job_->engine().interrupt(); // the call did not find this one
}

std::shared_ptr<loader_job> loader_seat::shared_job() const {
  const mutex_lock lock{mutex_};
  return job_;
}

loader_job& loader_seat::job() const {
  if (!job_)
    throw error(errc::interrupted, {.stage = "cluster",
                                    .got = "a loader that waits for its ranks to begin anew",
                                    .needed = "next(), which waits for them"});
  return *job_;
}

void loader_seat::check_runtime() const {
  if (job_)
    job_->engine().check_runtime();
}

void loader_seat::check_alone(const char* stage) const {
  if (options_.cluster)
    refuse_argument(stage, "a loader of a cluster", "restore() or resume_at()");
}

bool loader_seat::is_interrupted() const noexcept {
  return is_interrupted_ || (job_ && job_->engine().is_asked_to_end());
}

void loader_seat::check_lent(const char* stage, const job_progress& at,
                             const lease_desk& of) const {
  if (job().desk() != &of)
    refuse_batch(stage, of, at, job().job(), options_.cluster.has_value());
}

void loader_seat::leave_out(const step_range& steps) {
  job().job_to_begin("leave_out_steps").leave_out(steps);
  left_out_.push_back(steps);
}

void loader_seat::set_weights(const std::vector<double>& weights,
                              std::optional<std::uint64_t> from) {
  auto& job = this->job();
  if (!from && (options_.cluster || options_.world_size > 1))
    refuse_argument("set_weights", "no step, and several ranks",
                    "the step from which the weights hold, the same on all ranks");
  if (options_.cluster && job.desk())
    refuse_argument("set_weights", "a loader of a cluster that has begun",
                    "a call on all ranks before the first next()");
  const weight_change change{from.value_or(job.job().at.global_step), weights};
  job.set_weights(change);
  weights_.push_back(change);
}

std::optional<attempt_start> loader_seat::attempt() const {
  const auto mine = facts();
  if (mine.is_over)
    return std::nullopt;
  auto start = job().job().attempt();
  if (mine.term != 0)
    start.term = mine.term;
  start.continues = mine.has_resumed && options_.cluster->on_rank_loss == rank_loss::alone;
  return start;
}

loader_stats loader_seat::stats() const {
  const auto job = shared_job();
  return job ? job->stats() : loader_stats{};
}

void loader_seat::interrupt() noexcept {
  is_interrupted_ = true;
  if (const auto job = shared_job())
    job->engine().interrupt();
}

std::optional<resume_point> loader_seat::restore(const std::string& path,
                                                 const restore_options& options) {
  return job().restore(
      [&](rank_job& x) { return resume(x, path, options.allow, options.allow_older); });
}

void loader_seat::resume_at(std::uint64_t) {
  refuse_argument("resume_at", "a loader without a cluster", "skip_first_batches()");
}

void loader_seat::save(const std::string& directory, const job_progress& at) {
  job().save(directory, job().job().snapshot_at(at));
}

} // namespace leat
