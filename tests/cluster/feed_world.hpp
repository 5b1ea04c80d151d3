#pragma once

#include "runtime/sources/feed/feed_client.hpp"
#include "runtime/sources/feed/feed_identity.hpp"
#include "runtime/sources/feed/feed_server.hpp"
#include "runtime/sources/live/read_ahead.hpp"
#include "runtime/sources/live/record_store.hpp"
#include "tests/cluster/simulated_network.hpp"
#include "tests/support/temporary_directory.hpp"

namespace leat::test {

class simulated_feed;
class fed_rank;

/// A job whose records exist once, drawn by chance: which records its filter keeps is found in
/// their contents, so that some lanes are much longer than others.
struct fed_job {
  explicit fed_job(simulated_network& net);

  std::string content_of(std::uint64_t number) const;
  bool keeps(std::string_view content) const;
  /// Rows of each batch, lane by lane, as one process has them. It ends with its shortest lane.
  std::vector<std::vector<std::string>> batches() const;

  std::uint64_t seed = 0;
  std::uint64_t lanes = 1;
  std::uint64_t records = 0;
  /// Of a row: records of its lane that follow each other, and were kept.
  std::uint64_t per_row = 1;
  std::uint64_t rows_per_lane = 1;
  /// In percent.
  std::uint64_t kept = 100;
  std::uint64_t kept_of_lane_0 = 100;
  std::size_t most_bytes = 100;

  // How it runs:
  std::uint64_t window = 1000;
  read_ahead_limits ahead = {};
  std::uint64_t memory = 1 << 30;
  std::size_t items_ahead = 4;
  std::size_t batches_ahead = 2;
  std::size_t workers = 1;
  std::uint64_t save_every = 1;
  std::size_t sets_kept = 1;
};

/// For each lane, how many of its records come before what is needed next.
using lane_places = std::map<std::uint64_t, std::uint64_t>;

/// What outlives processes: the source, the feed's disk, stored sets; and the trainers, which are
/// in step. Who sits where is decided here, at once: what ranks agree on is not what is tested.
class feed_world {
public:
  enum class storage : std::uint8_t { memory, journal, files };
  struct wish {
    storage records = storage::journal;
    std::uint64_t ranks = 2;
    virtual_time storm = seconds_of(0);
    std::uint64_t faults = 0;
    bool kills_feeds = true;
    bool kills_ranks = true;
    bool has_twin = false;
  };

  feed_world(std::uint64_t seed, const wish& how);
  ~feed_world();

  /// Runs it to its end.
  void run();
  /// Why the ranks could not continue, by rank; empty: all was well.
  std::map<std::uint64_t, std::string> failures() const;
  const std::vector<std::vector<std::string>>& trained() const { return trained_; }
  std::uint64_t most_bytes_held() const { return most_bytes_held_; }
  std::uint64_t times_taken_back() const { return times_taken_back_; }
  std::uint64_t sets_stored() const { return sets_stored_; }

  // For processes:
  /// That of the feed which was there first, as a snapshot and a coordinator know it.
  std::optional<feed_client::known_stream> stream = {};
  simulated_network net;
  const fed_job job;
  const wish how;
  const std::vector<std::vector<std::string>> expected;
  simulated_feed* feed = nullptr;
  simulated_feed* twin = nullptr;

  /// Opens what an earlier process of the feed has left.
  record_store& open_records();
  bool has_journal() const { return how.records != storage::memory; }
  feed_identity identity_for(std::uint64_t records);
  void note_end(std::uint64_t records);
  /// Where the source stands. Records that were read, and are in no journal, are lost.
  std::uint64_t source_at = 0;

  /// A rank has saved its part of a set.
  void save(std::uint64_t term, std::uint64_t step, const lane_places& part);
  /// The set from which a job would resume at the earliest.
  std::optional<std::uint64_t> oldest_set() const;
  void try_train();
  void note_held(std::uint64_t bytes);

private:
  void start_feed();
  void regroup();
  void strike();
  void tear_tail();
  bool is_over() const;
  std::uint64_t step() const { return trained_.size(); }

  std::optional<temporary_directory> directory_;
  std::unique_ptr<record_store> records_;
  feed_identity identity_;
  std::uint64_t streams_ = 0;

  std::vector<fed_rank*> ranks_;
  std::vector<fed_rank*> seated_;
  std::uint64_t term_ = 0;
  bool is_stepping_ = false;
  bool has_coordinator_ = true;
  std::vector<std::vector<std::string>> trained_;
  std::map<std::uint64_t, lane_places> sets_;
  std::map<std::uint64_t, lane_places> parts_;

  std::uint64_t most_bytes_held_ = 0;
  std::uint64_t times_taken_back_ = 0;
  std::uint64_t sets_stored_ = 0;
};

} // namespace leat::test
