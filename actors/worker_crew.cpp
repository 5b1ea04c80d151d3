#include "actors/worker_crew.hpp"

#include <utility>

namespace leat {

worker_crew::worker_crew(std::uint64_t rank, std::uint64_t world_size,
                         std::shared_ptr<const fault_drill> fault)
    : rank_(rank), world_size_(world_size), fault_(std::move(fault)) {}

worker_config worker_crew::make(std::shared_ptr<const job_plan> plan, std::size_t number,
                                bool replaces, gate_token alive) {
  worker_config config{std::move(plan), board_.add(number), {}, std::move(alive), device_};
  if (replaces)
    replaced_.fetch_add(1);
  if (!fault_)
    return config;
  for (const auto& x : fault_->slow)
    if (x.worker == number)
      config.drill.slow_by = x.by;
  auto earlier = lives_begun_[number]++;
  for (const auto& x : fault_->deaths)
    if (x.worker == number && x.position % world_size_ == rank_ && earlier-- == 0)
      config.drill.die_at = x.position;
  return config;
}

} // namespace leat
