#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/order/lane_state.hpp"
#include "runtime/rows/batch_order.hpp"
#include "runtime/sample/live_source.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Tells the sources that exist once which records the lanes of one rank will not ask for again.
/// Records of a journal are needed as long as there is a snapshot, kept by the program or saved in
/// a directory, from which a job would resume before them; other records only as long as this job
/// still needs them. Any thread.
class journal_retention {
public:
  using feed_list = std::vector<std::shared_ptr<live_source>>;

  journal_retention(feed_list feeds, std::uint64_t lanes, std::uint64_t rank,
                    std::uint64_t world_size)
      : feeds_(std::move(feeds)), lanes_(lanes), rank_(rank), world_size_(world_size) {
    for (const auto& x : feeds_)
      x->attend(lanes_, rank_, world_size_);
  }

  bool has_feeds() const noexcept { return !feeds_.empty(); }

  /// The job resumes there; without lanes, from the epoch's beginning. Throws `errc::mismatch` if a
  /// journal does not have the records that were used (it is another journal), or no longer has
  /// those that are needed.
  void restored(const job_position& at, const lane_states& lanes) const;
  /// All samples of the batches before this state have been made.
  void passed(const lane_states& lanes) const;

  /// A snapshot from which a job would resume there is about to be stored.
  void saving(const std::string& directory, const job_position& at, const lane_states& lanes);
  /// Older snapshots in the directory are gone.
  void kept_from(const std::string& directory, const job_position& oldest);
  /// In a cluster: this is the newest set that all ranks have stored in the directory, where `keep`
  /// sets stay, as the coordinator says; 0: it has not said so, and nothing is released.
  void heard_stored(const std::string& directory, const job_position& newest, std::uint64_t keep);
  /// The job resumed from a snapshot in a directory, which an earlier process saved: it stays
  /// needed until this process has saved one.
  void found_saved(const job_position& at, const lane_states& lanes);

  /// The program keeps, once more, a snapshot from which a job would resume there. The records that
  /// it needs are checked and held at once: they cannot be released in between. Throws as
  /// `restored`, and then keeps nothing.
  void keep(const job_position& at, const lane_states& lanes);
  /// The program keeps that snapshot once less. Releases what neither the job, which stands at
  /// `now`, nor any remaining snapshot needs. If the program then keeps none, releases nothing:
  /// that one was the last, and the program may be ending.
  void let_go(const job_position& at, const job_position& now, const lane_states& lanes);

private:
  struct lane_need {
    std::uint64_t lane = 0;
    /// For each feed; UINT64_MAX: none.
    std::vector<std::uint64_t> lowest;
  };
  /// For the rank's lanes.
  using needs = std::vector<lane_need>;
  struct saved {
    job_position at;
    needs lanes;
  };
  struct saved_sets {
    /// In the order in which they were saved, from the oldest that still exists.
    std::deque<saved> sets;
    /// False as long as there may be sets of earlier processes.
    bool are_all = false;
  };

  struct kept {
    std::uint64_t times = 0;
    needs lanes;
  };

  needs needs_of(const job_position& at, const lane_states& lanes) const;
  static void lower(needs& to, const needs& by);
  /// Keeps the feeds from releasing what is needed, then checks that it is there.
  void hold(const needs& needed, const lane_states& lanes) const;
  void release_unneeded(needs needed) const LEAT_REQUIRES(mutex_);
  void release(const needs& lanes, bool journals) const;

  const feed_list feeds_;
  const std::uint64_t lanes_;
  const std::uint64_t rank_;
  const std::uint64_t world_size_;
  mutex mutex_;
  std::map<std::string, saved_sets> saved_ LEAT_GUARDED_BY(mutex_);
  std::optional<needs> found_ LEAT_GUARDED_BY(mutex_);
  /// Sets that are known to be stored, in a cluster. Used by one thread.
  std::deque<job_position> heard_;
  std::map<job_position, kept> kept_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
