#pragma once

#include "messages/cluster/feed_claim.hpp"
#include "messages/cluster/incarnation.hpp"
#include "messages/cluster/process_identity.hpp"
#include "messages/epoch_horizon.hpp"

#include <leat/job_position.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// A rank's seat in a term, as the coordinator tells its holder.
struct cluster_seat {
  /// The intended holder: a process that has let go of its seat since then does not take it.
  incarnation holder = {};
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// How long the holder may hand over batches, counted from the time at which it sent the beat
  /// that the word answers.
  std::uint64_t lease_ns = 0;
  /// The stored set to begin with; none: the job's beginning.
  std::optional<job_position> start = {};
  /// Another process held the seat earlier in this term, so the trainer decides which batch is
  /// next.
  bool has_come_back = false;
  /// `start` was stored in this term: the holder continues from its own part of it, whose sums
  /// begin where those of the others do.
  bool start_is_of_term = false;
  /// The holder hands over no batch at or after this step of the job, so that no rank runs too far
  /// ahead.
  std::uint64_t step_limit = UINT64_MAX;

  friend bool operator==(const cluster_seat&, const cluster_seat&) = default;
};

/// Where feeds connect to a rank.
struct fed_rank {
  std::uint64_t rank = 0;
  /// "host:port".
  std::string feeds_at = {};

  friend bool operator==(const fed_rank&, const fed_rank&) = default;
};

/// A coordinator's message to a process: the answer to each of its beats, and also sent whenever
/// something has changed. Like a beat, each word is complete.
struct cluster_word {
  /// The coordinator's life: words of older lives are ignored.
  std::uint64_t life = 0;
  /// Number of the newest beat that it had received by then.
  std::uint64_t echo = 0;
  std::uint64_t term = 0;
  /// A process that holds a seat in a term up to this one must let go of it.
  std::uint64_t stop = 0;
  /// Why the newest term began: a line for the log.
  std::string reason = {};
  /// What the process waits for while it has no seat; for display only.
  std::string waits_for = {};
  std::optional<cluster_seat> seat = {};

  /// What is known about the epochs since the newest stored set.
  std::map<std::uint64_t, epoch_horizon> horizons = {};
  /// Why the job has failed; empty: it has not.
  std::string failure = {};
  /// Why the process cannot take part; empty: it can.
  std::string refused = {};
  /// The job has ended.
  bool is_over = false;

  /// The set that is being completed.
  std::optional<job_position> target = {};
  /// Offset in bytes from which the process's part of that set is needed; none: the coordinator has
  /// all of it, or does not request it yet.
  std::optional<std::uint64_t> needed = {};
  /// No set at or before this place is collected any more: their parts may be dropped.
  std::optional<job_position> given_up = {};
  /// The newest set that is stored.
  std::optional<job_position> stored = {};
  /// So many of the newest ones stay; 0: it has not said so.
  std::uint64_t keep = 0;
  /// Number and text of the newest failure to store a set; 0: none.
  std::uint64_t store_failures = 0;
  std::string store_failure = {};

  /// The records that serve the job, for each feed of which any rank has heard.
  std::vector<feed_claim> feeds = {};
  /// For a process that serves sources: the ranks that have said where they listen.
  std::vector<fed_rank> fed_ranks = {};
  /// Likewise: another process is rank 0 now.
  bool first_elsewhere = false;

  /// Address of a newer coordinator; the sender of the word is ending. Empty: there is none.
  std::string moved_to = {};

  /// Processes of the same host that hold seats and may have ended: the receiver checks whether
  /// they have.
  std::vector<std::pair<incarnation, process_identity>> neighbours = {};
};

} // namespace leat
