#pragma once

#include "runtime/cluster/coordinator_memory.hpp"
#include "runtime/cluster/state_directory.hpp"

#include <memory>
#include <string>
#include <utility>

namespace leat {

/// The directory belongs to this job, and its newest state says that the job is over. Throws what
/// the directory throws.
bool is_over(state_directory& directory, const std::string& job);

/// What outlives the coordinators of one job, in a state directory.
class kept_in_directory final : public coordinator_memory {
public:
  kept_in_directory(std::shared_ptr<state_directory> directory, std::string job)
      : directory_(std::move(directory)), job_(std::move(job)) {}

  /// Begins a life at this address. If the directory belongs to a job that is over, it is handed
  /// over to this one. Throws `errc::invalid_argument` if it belongs to a job that is not, and what
  /// the directory throws.
  std::uint64_t begin_life(const std::string& address);

  /// 0 if the directory was removed, even if another one has been made in its place.
  std::uint64_t newest_life() override;
  std::string newest_address() override;
  void write_state(std::uint64_t life, const std::string& bytes) override {
    directory_->write_state(life, job_, bytes);
  }
  /// None if it is of a former job.
  std::optional<found> read_state() override;

private:
  std::shared_ptr<state_directory> directory_;
  std::string job_;
  /// Where the life that it has begun listens.
  coordinator_place own_ = {};
};

} // namespace leat
