#pragma once

#include <leat/loader.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
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
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<epoch_agreement> said_;
  std::vector<epoch_agreement> all_;
  std::uint64_t present_ = 0;
  std::uint64_t meeting_ = 0;
  bool is_over_ = false;
};

} // namespace leat::command
