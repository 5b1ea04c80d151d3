#pragma once

#include "actors/worker.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/worker_board.hpp"

#include <leat/testing.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace leat {

/// Makes everything that each worker of a loader needs, and keeps the records of what they do.
class worker_crew {
public:
  /// `fault`: drills of a job with that many ranks, or null.
  worker_crew(std::uint64_t rank, std::uint64_t world_size,
              std::shared_ptr<const fault_drill> fault);

  /// See worker_board. Called before any worker is made.
  void measure(std::size_t num_stages, std::function<row_tracing(std::size_t number)> tracing) {
    board_.measure(num_stages, std::move(tracing));
  }

  /// Called before any worker is made: they decode images there.
  void decode_on(std::shared_ptr<device_decoding> device) { device_ = std::move(device); }

  /// Null: here.
  const device_decoding* device() const noexcept { return device_.get(); }

  /// For the one thread that makes workers. `replaces`: a worker with this number has died.
  worker_config make(std::shared_ptr<const job_plan> plan, std::size_t number, bool replaces,
                     gate_token alive);

  /// Any thread.
  const worker_board& board() const noexcept { return board_; }
  std::uint64_t replaced() const noexcept { return replaced_.load(); }

private:
  const std::uint64_t rank_;
  const std::uint64_t world_size_;
  const std::shared_ptr<const fault_drill> fault_;
  worker_board board_;
  std::shared_ptr<device_decoding> device_;
  std::atomic<std::uint64_t> replaced_{0};
  /// How many workers with each number there have been.
  std::map<std::size_t, std::size_t> lives_begun_;
};

} // namespace leat
