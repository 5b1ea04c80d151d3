#pragma once

#include <leat/export.hpp>
#include <leat/job_position.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

enum class cluster_phase : std::uint8_t {
  /// The job waits for ranks, or for places of lost ones to become free.
  forming,
  running,
  /// All batches were handed over.
  over,
  /// A rank has failed; the job may begin again.
  failed,
};

enum class rank_state : std::uint8_t {
  /// Its process was not heard of since the coordinator began.
  unheard,
  /// It reads the snapshot that the term began with.
  loading,
  running,
  /// It has been silent for longer than three beats.
  silent,
  /// Its connection was closed.
  disconnected,
  /// It has handed over all its batches.
  done,
  failed,
  /// The term has ended, and with it the rank's place in it.
  ended,
};

/// "running" and so on: the names above.
LEAT_API std::string_view to_string(cluster_phase x) noexcept;
LEAT_API std::string_view to_string(rank_state x) noexcept;

/// What a rank has had of a feed that it reads (`feed(name)`).
struct feed_report {
  std::string name = {};
  /// "host:port" of the process that serves it, as the rank sees it; empty: nobody does.
  std::string at = {};
  bool has_journal = false;
  /// Records that its source has given, since it first began.
  std::uint64_t records_read = 0;
  /// The rank's iterators have come to the records before this number.
  std::uint64_t reached = 0;
  /// The oldest record that the rank may still ask for, here or after a restore.
  std::uint64_t needed_from = 0;
  /// What came to the rank since its loader began.
  std::uint64_t records_received = 0;
  std::uint64_t bytes_received = 0;
  /// How long it waited for the source, and for records on their way.
  std::chrono::nanoseconds waited{0};
  // Over the last second or so:
  std::uint64_t records_per_second = 0;
  std::uint64_t bytes_per_second = 0;
  /// Share of the time in which the rank waited for the source, or for records on their way, in
  /// thousandths.
  std::uint64_t waiting_permille = 0;

  /// Records that the source has given, and the rank has not come to.
  std::uint64_t lag() const noexcept { return records_read > reached ? records_read - reached : 0; }
  friend bool operator==(const feed_report&, const feed_report&) = default;
};

/// A rank of the newest term.
struct rank_report {
  std::uint64_t rank = 0;
  rank_state state = rank_state::unheard;
  /// Empty and 0: not heard of.
  std::string host = {};
  std::uint64_t pid = 0;
  /// Its trainer is done with all batches before.
  job_position at = {};
  /// The step of the job there; none before it has loaded its snapshot.
  std::optional<std::uint64_t> global_step = {};
  /// Steps behind the rank that is furthest.
  std::optional<std::uint64_t> lag = {};
  /// Since it was heard last.
  std::chrono::nanoseconds silent{0};
  /// Another process was this rank earlier in the term.
  bool has_come_back = false;
  /// Share of its time in which the trainer waited for data, in thousandths.
  std::uint64_t waiting_permille = 0;
  std::uint64_t rows_per_second = 0;
  /// "host:port" where helpers join to make its rows; empty: nowhere.
  std::string workers_at = {};
  /// Threads that make its rows: its own, and those of helpers that are there.
  std::uint64_t workers = 0;
  std::uint64_t helper_cores = 0;
  /// "host:port" where feeds connect; empty: nowhere.
  std::string feeds_at = {};
  std::vector<feed_report> feeds = {};
  /// What has failed in it; empty: nothing.
  std::string failure = {};

  friend bool operator==(const rank_report&, const rank_report&) = default;
};

/// A process that is no rank now.
struct waiting_report {
  std::string host = {};
  std::uint64_t pid = 0;
  /// The rank that its launcher gave it.
  std::optional<std::uint64_t> rank = {};
  /// What it waits for, or why it was refused.
  std::string waits_for = {};

  friend bool operator==(const waiting_report&, const waiting_report&) = default;
};

/// How many ranks a job is to have.
struct ranks_wanted {
  /// The same number, unless any number between them will do.
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  friend bool operator==(const ranks_wanted&, const ranks_wanted&) = default;
};

/// A job of several processes, as its coordinator sees it.
struct cluster_report {
  /// Where the coordinator was asked.
  std::string address = {};
  /// Empty: nobody has named it.
  std::string job = {};
  /// Coordinators of a job are numbered from 1.
  std::uint64_t coordinator = 0;
  cluster_phase phase = cluster_phase::forming;
  /// Ranks that began together at one snapshot are a term; 0: none has begun.
  std::uint64_t term = 0;
  /// Why the term began, why the job waits, or what has failed.
  std::string reason = {};
  /// None: no process has come yet.
  std::optional<ranks_wanted> wanted = {};
  /// The snapshot that the term began with; none: the job's beginning.
  std::optional<job_position> start = {};
  /// The newest snapshot of the whole job, and the one that is being collected.
  std::optional<job_position> stored = {};
  std::optional<job_position> collecting = {};
  /// Directory of the job's snapshots; empty: not known, or none are saved.
  std::string sets = {};
  /// How often a snapshot could not be stored, and why the last time.
  std::uint64_t store_failures = 0;
  std::string store_failure = {};
  std::vector<rank_report> ranks = {};
  std::vector<waiting_report> waiting = {};

  friend bool operator==(const cluster_report&, const cluster_report&) = default;
};

} // namespace leat
