#include "actors/loader_seat.hpp"

#include "actors/cluster/shared_seat.hpp"
#include "actors/loader_checks.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/job/resume.hpp"

#include <leat/pipeline_facts.hpp>

#include <utility>

namespace leat {

std::unique_ptr<loader_seat> make_seat(const pipeline& given, loader_options options) {
  // Nothing else needs these, which may be secret.
  const auto data = with_remote(given, std::exchange(options.remote, {}));
  std::unique_ptr<loader_seat> made;
  if (options.cluster)
    made = std::make_unique<shared_seat>(data, std::move(options));
  else
    made = std::make_unique<loader_seat>(data, std::move(options));
  made->begin();
  return made;
}

void loader_seat::begin() {
  feeds_.listen(options_, nullptr);
  current_.make(options_);
}

lease loader_seat::next() {
  auto found = job().next();
  feeds_.finish(!found);
  return found;
}

void loader_seat::check_alone(const char* stage) const {
  if (options_.cluster)
    refuse_argument(stage, "a loader of a cluster", "restore() or resume_at()");
}

void loader_seat::check_lent(const char* stage, const job_progress& at,
                             const lease_desk& of) const {
  if (job().desk() != &of)
    refuse_batch(stage, of, at, job().job(), options_.cluster.has_value());
}

void loader_seat::set_weights(const std::vector<double>& weights,
                              std::optional<std::uint64_t> from) {
  const auto& job = this->job();
  if (!from && (options_.cluster || options_.world_size > 1))
    refuse_argument("set_weights", "no step, and several ranks",
                    "the step from which the weights hold, the same on all ranks");
  if (options_.cluster && job.desk())
    refuse_argument("set_weights", "a loader of a cluster that has begun",
                    "a call on all ranks before the first next()");
  current_.set_weights({from.value_or(job.job().at.global_step), weights});
}

loader_stats loader_seat::stats() const {
  auto found = current_.stats();
  found.feeds = feeds_.stats();
  return found;
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
