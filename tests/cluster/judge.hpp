#pragma once

#include "runtime/cluster/coordinator_state.hpp"
#include "tests/cluster/scenario.hpp"
#include "tests/cluster/simulated_disk.hpp"

namespace leat::test {

/// Thrown if something has happened that must not happen.
struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The subject of a call: one life of a rank in a term.
struct seat_life {
  std::uint64_t term = 0;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  incarnation who = {};
};

/// What has happened, for display.
struct run_counts_of_judge {
  std::uint64_t batches = 0;
  std::uint64_t sets = 0;
  std::uint64_t returns = 0;
  std::uint64_t restored_elsewhere = 0;
};

/// Knows what the job gives on one rank, and what leat does not know, the state of the trainers:
/// their weights and collectives. Throws violation.
class judge {
public:
  explicit judge(const scenario& x) : with_(x) {}

  /// A rank has loaded its seat's set. Returns the batch that its trainer needs next.
  job_position begins(const seat_life& who, const job_position& start, bool has_come_back,
                      const simulated_disk& disk);
  /// Permission was given for a batch, or for the end.
  void handed_over(const seat_life& who, const job_position& at, const row_ids& rows);
  void ended(const seat_life& who);
  /// The trainer is done with a batch, after which the job is at `next`. Calls `go_on` when the
  /// trainer may continue: at once, or when the collective is complete.
  void trained(const seat_life& who, const job_position& at, const job_position& next,
               const std::function<void()>& go_on);
  /// A set is stored. Returns its parts, to restore from.
  std::vector<snapshot> stored(const job_position& at, std::uint64_t term,
                               const std::map<std::uint64_t, std::string>& parts);
  /// The disk was full: all ranks learn of it, and the set is not tried again.
  void not_stored(const job_position& at) { not_stored_.insert(at); }
  void at_most(const char* what, std::size_t x, std::size_t most);
  void knows_term(std::uint64_t of_member, std::uint64_t of_coordinator);
  /// The job is over: checks that everything was trained on and stored.
  void check_end(const coordinator_state& state, const simulated_disk& disk) const;
  /// Checks that a job of another world size resumes from a stored set, without a cluster.
  void check_elsewhere(simulated_network& net, const simulated_disk& disk);

  [[noreturn]] static void wrong(const std::string& what) { throw violation(what); }
  const run_counts_of_judge& counts() const { return counts_; }

private:
  using seat_key = std::pair<std::uint64_t, std::uint64_t>;

  bool is_replaced(const seat_life& who) const;
  bool is_fenced(const seat_life& who) const;
  /// Checks that no rank is further ahead of the slowest one than the job's rules allow.
  void check_run_ahead(const seat_life& who, const job_position& at) const;
  void check_seat(const seat_life& who);

  struct arrival {
    seat_life who;
    job_position next;
    std::function<void()> go_on;
  };

  const scenario& with_;
  run_counts_of_judge counts_;
  std::set<job_position> not_stored_;
  std::uint64_t newest_term_ = 0;
  std::map<seat_key, std::vector<incarnation>> holders_;
  std::map<seat_key, job_position> weights_;
  std::map<seat_key, std::vector<job_position>> history_;
  /// Collectives that not all ranks have come to yet, by term and batch.
  std::map<std::pair<std::uint64_t, job_position>, std::map<std::uint64_t, arrival>> gates_;
};

std::string text_of(const job_position& x);

} // namespace leat::test
