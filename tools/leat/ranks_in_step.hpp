#pragma once

#include <leat/loader.hpp>
#include <leat/pipeline.hpp>

#include "tools/leat/rank_meeting.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace leat::command {

/// The ranks of a job that this process runs, in lock step: their loaders, and the leases of the
/// step that all of them have. One thread, unless a member says "any thread".
class ranks_in_step {
public:
  /// `first`: options of the first rank; the others are those after it. Throws `leat::error`.
  ranks_in_step(const pipeline& data, loader_options first, std::uint64_t ranks);

  std::vector<loader>& loaders() noexcept { return loaders_; }
  const loader& front() const noexcept { return loaders_.front(); }
  loader& front() noexcept { return loaders_.front(); }
  /// Takes the next step. False if that was interrupted: some rank has no batch of the step.
  bool next();
  /// Those of the step; empty ones after the last step.
  const std::vector<lease>& leases() const noexcept { return leases_; }
  /// The trainer is done with the step: gives its leases back, unless a rank may already be a step
  /// ahead.
  void end_step();
  /// Drops what was handed over: the ranks have regrouped.
  void forget_steps();
  /// Saves the state after the step.
  void save(const std::string& directory);
  /// Ends next() of ranks that wait for a batch, where that can be. Any thread.
  void interrupt();

  std::vector<loader_stats> stats() const;
  /// Digest of what all of these ranks handed over since the job began.
  hash128 digest() const;
  /// Size of the largest part of a snapshot of the step; 0 if there can be none.
  std::uint64_t snapshot_bytes() const;

private:
  std::vector<std::exception_ptr> ask_all();

  /// Where the ranks agree, if there are several. `must_meet_`: they have to agree on the end of
  /// epochs, so they must ask for their batches concurrently.
  std::shared_ptr<rank_meeting> meeting_;
  bool must_meet_;
  /// Whether ranks may be interrupted while they wait for a batch: a single rank always, several
  /// only where records may never come. In that case (`keeps_step_`) several ranks keep the leases
  /// of their step until all have the next, since some may be ahead when the job is stopped.
  bool keeps_step_;
  bool can_interrupt_;
  std::vector<loader> loaders_;
  std::vector<lease> leases_;
  /// Leases of the next step, while the ranks are asked for it.
  std::vector<lease> next_leases_;
};

} // namespace leat::command
