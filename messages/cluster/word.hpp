#pragma once

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

/// A rank's seat in a term, as the coordinator states it to its holder.
struct cluster_seat {
  /// Whom it is meant for: a process that has let go since does not take it.
  incarnation holder = {};
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// How long the holder may hand over batches, counted from when the beat was sent that the word
  /// answers.
  std::uint64_t lease_ns = 0;
  /// The stored set that it begins with; none: the job's beginning.
  std::optional<job_position> start = {};
  /// Another process held the seat earlier in this term: its trainer says which batch is next.
  bool has_come_back = false;
  /// `start` was stored in this term: the holder goes on from its own part of it, whose sums begin
  /// where those of the others do.
  bool start_is_of_term = false;
  /// It hands over no batch at or after this step of the job, so that nobody runs too far ahead.
  std::uint64_t step_limit = UINT64_MAX;

  friend bool operator==(const cluster_seat&, const cluster_seat&) = default;
};

/// What a coordinator states to a process: in answer to each of its beats, and whenever something
/// has changed. Like a beat it is all that there is to say.
struct cluster_word {
  /// The coordinator's life: words of older ones are ignored.
  std::uint64_t life = 0;
  /// Number of the newest beat that it had when it said this.
  std::uint64_t echo = 0;
  std::uint64_t term = 0;
  /// Who holds a seat in a term up to this one lets go of it.
  std::uint64_t stop = 0;
  /// Why the newest term began: a line for the log.
  std::string reason = {};
  /// What the process waits for, as long as it has no seat; for people.
  std::string waits_for = {};
  std::optional<cluster_seat> seat = {};

  /// What is known of the epochs since the newest stored set.
  std::map<std::uint64_t, epoch_horizon> horizons = {};
  /// Why the job has failed; empty: it has not.
  std::string failure = {};
  /// Why the process cannot take part; empty: it can.
  std::string refused = {};
  /// The job has ended.
  bool is_over = false;

  /// The set that is being completed.
  std::optional<job_position> target = {};
  /// From where on the process's part of it is missing, in bytes; none: it is there, or not asked
  /// for yet.
  std::optional<std::uint64_t> needed = {};
  /// No set at or before this place is collected any more: its parts are of no use.
  std::optional<job_position> given_up = {};
  /// The newest set that is stored.
  std::optional<job_position> stored = {};
  /// Number and text of the newest failure to store a set; 0: none.
  std::uint64_t store_failures = 0;
  std::string store_failure = {};

  /// Where a newer coordinator has begun: the one that says so ends. Empty: nowhere.
  std::string moved_to = {};

  /// Processes of the same host that hold seats, and may have ended: it looks whether they have.
  std::vector<std::pair<incarnation, process_identity>> neighbours = {};
};

} // namespace leat
