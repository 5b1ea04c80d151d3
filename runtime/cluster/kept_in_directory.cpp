#include "runtime/cluster/kept_in_directory.hpp"

#include "runtime/cluster/coordinator_state.hpp"

namespace leat {

bool is_over(state_directory& directory, const std::string& job) {
  if (directory.job() != job)
    return false;
  const auto last = directory.read_state();
  return last && last->state.job == job
         && decode_coordinator_state(last->state.bytes, directory.name()).phase == job_phase::over;
}

std::uint64_t kept_in_directory::begin_life(const std::string& address) {
  const auto owner = directory_->job();
  if (owner && *owner != job_ && is_over(*directory_, *owner))
    directory_->hand_over(*owner, job_);
  own_ = {directory_->begin_life(job_, address), address}; // which refuses another job's directory
  return own_.life;
}

std::uint64_t kept_in_directory::newest_life() {
  const auto newest = directory_->newest_life();
  if (newest != own_.life)
    return newest;
  const auto place = directory_->address_of_newest();
  return place && place->life == own_.life && place->address != own_.address ? 0 : newest;
}

std::string kept_in_directory::newest_address() {
  const auto place = directory_->address_of_newest();
  return place ? place->address : std::string{};
}

std::optional<coordinator_memory::found> kept_in_directory::read_state() {
  auto last = directory_->read_state();
  if (!last || last->state.job != job_)
    return std::nullopt;
  return found{last->life, std::move(last->state.bytes)};
}

} // namespace leat
