#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <leat/loader.hpp>

#include <cstdint>
#include <vector>

namespace leat::command {

/// An all-gather among the ranks of one process, each in a thread of its own: what MPI_Allgather is
/// among processes.
class rank_meeting {
public:
  explicit rank_meeting(std::uint64_t ranks) : said_(ranks) {}

  /// What all ranks say, once all have. Blocks until then. After `break_up` throws
  /// `errc::worker_lost`.
  std::vector<epoch_agreement> gather(std::uint64_t rank, const epoch_agreement& mine);

  /// A rank will not come any more.
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
