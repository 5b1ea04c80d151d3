#pragma once

#include "runtime/batch_order.hpp"
#include "runtime/lane_state.hpp"
#include "runtime/once_feed.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace leat {

/// Tells the sources that exist once which records the lanes of one rank will not ask for again.
/// Records of a journal are needed as long as a snapshot is kept that goes on before them; others
/// only by what is still to come of this job. Any thread.
class record_release {
public:
  using feed_list = std::vector<std::shared_ptr<once_feed>>;

  record_release(feed_list feeds, std::uint64_t lanes) : feeds_(std::move(feeds)), lanes_(lanes) {}

  /// The job goes on from there. Throws `errc::mismatch` where a journal has fewer records than
  /// were used: it is another one.
  void restored(const lane_states& lanes) const;
  /// All samples of the batches before are made.
  void passed(const lane_states& lanes) const;
  /// A snapshot that goes on there is about to be stored.
  void saving(const job_position& at, const lane_states& lanes);
  /// Older snapshots are gone.
  void kept_from(const job_position& oldest);

private:
  struct lane_need {
    std::uint64_t lane = 0;
    /// By feed; UINT64_MAX: none.
    std::vector<std::uint64_t> lowest;
  };
  struct saved {
    job_position at;
    std::vector<lane_need> lanes;
  };

  std::vector<lane_need> needs_of(const lane_states& lanes) const;
  void release(const std::vector<lane_need>& lanes, bool journals) const;

  const feed_list feeds_;
  const std::uint64_t lanes_;
  std::mutex mutex_;
  /// In the order of saving.
  std::deque<saved> saved_;
};

} // namespace leat
