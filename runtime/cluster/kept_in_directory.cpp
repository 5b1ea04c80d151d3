#include "runtime/cluster/kept_in_directory.hpp"

#include "runtime/cluster/coordinator_state.hpp"

namespace leat {

std::uint64_t kept_in_directory::begin_life(const std::string& address) {
  const auto owner = directory_->job();
  if (owner && *owner != job_) {
    const auto last = directory_->read_state();
    const bool is_over =
        last && last->state.job == *owner
        && decode_coordinator_state(last->state.bytes, directory_->name()).phase == job_phase::over;
    if (is_over)
      directory_->hand_over(*owner, job_);
  }
  return directory_->begin_life(job_, address); // which refuses another job's directory
}

std::optional<coordinator_memory::found> kept_in_directory::read_state() {
  auto last = directory_->read_state();
  if (!last || last->state.job != job_)
    return std::nullopt;
  return found{last->life, std::move(last->state.bytes)};
}

} // namespace leat
