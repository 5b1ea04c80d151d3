#include "runtime/job/restart_place.hpp"

#include "runtime/rows/rewindable_order.hpp"

#include <utility>

namespace leat {

void restart_place::set(rank_job job) {
  auto next = std::make_shared<const rank_job>(std::move(job));
  const mutex_lock lock{mutex_};
  job_ = std::move(next);
}

std::unique_ptr<batch_order>
restart_place::make_order(const std::shared_ptr<call_record>& calls) const {
  std::shared_ptr<const rank_job> job;
  {
    const mutex_lock lock{mutex_};
    job = job_;
  }
  return job->make_order(calls);
}

std::unique_ptr<batch_order> restartable_order(const rank_job& job,
                                               std::shared_ptr<const restart_place> place,
                                               const std::shared_ptr<call_record>& calls,
                                               std::uint64_t run) {
  return std::make_unique<rewindable_order>(
      job.make_order(calls), run,
      [place = std::move(place), calls] { return place->make_order(calls); });
}

rank_job at_beginning(const rank_job& job) {
  auto result = job;
  result.at = {};
  return result;
}

rank_job as_restored(const rank_job& job) {
  auto result = job;
  if (job.at.lanes) {
    const auto text = job.encoded_at(job.at);
    result.at.lanes =
        std::make_shared<const lane_states>(decode(text, "the job's own state").lanes);
  }
  return result;
}

} // namespace leat
