#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <leat/loader.hpp>

#include <cstdint>
#include <vector>

namespace leat::command {

/// An all-gather among the ranks of one process, each in a thread of its own, like MPI_Allgather
/// among processes.
class rank_meeting {
public:
  explicit rank_meeting(std::uint64_t ranks) : said_(ranks) {}

  /// Blocks until all ranks have called it, and returns the values of all. After `break_up` it
  /// throws `errc::worker_lost`.
  std::vector<epoch_agreement> gather(std::uint64_t rank, const epoch_agreement& mine);

  /// Ends all waits, because some rank will not come any more.
  void break_up();

private:
  mutex mutex_;
  condition_variable changed_;
  std::vector<epoch_agreement> said_ LEAT_GUARDED_BY(mutex_);
  std::vector<epoch_agreement> all_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t present_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t meeting_ LEAT_GUARDED_BY(mutex_) = 0;
  bool is_over_ LEAT_GUARDED_BY(mutex_) = false;
};

} // namespace leat::command
