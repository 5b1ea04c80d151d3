#include "tools/leat/rank_meeting.hpp"

#include "runtime/base/error_in_flight.hpp"

namespace leat::command {

std::vector<epoch_agreement> rank_meeting::gather(std::uint64_t rank, const epoch_agreement& mine) {
  mutex_lock lock{mutex_};
  said_[rank] = mine;
  const auto meeting = meeting_;
  if (++present_ == said_.size()) {
    all_ = said_;
    present_ = 0;
    ++meeting_;
    changed_.notify_all();
    return all_;
  }
  while (meeting_ == meeting && !is_over_)
    changed_.wait(mutex_);
  // The next meeting cannot end before this rank has come to it, so `all_` is still of this one.
  if (meeting_ != meeting)
    return all_;
  throw_error(errc::worker_lost, "agree", "a rank that has failed", "all ranks");
}

void rank_meeting::break_up() {
  mutex_lock lock{mutex_};
  is_over_ = true;
  changed_.notify_all();
}

} // namespace leat::command
