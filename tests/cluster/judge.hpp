#pragma once

#include "runtime/cluster/coordinator_state.hpp"
#include "tests/cluster/scenario.hpp"
#include "tests/cluster/simulated_disk.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leat::test {

/// Something that must not happen has happened.
struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Who speaks: one life of a rank in a term.
struct seat_life {
  std::uint64_t term = 0;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  incarnation who = {};
};

/// What has happened, for people.
struct run_counts_of_judge {
  std::uint64_t batches = 0;
  std::uint64_t sets = 0;
  std::uint64_t seats = 0;
  std::uint64_t returns = 0;
  std::uint64_t restored_elsewhere = 0;
};

/// Knows what the job gives on one rank, and the trainers' world: their weights and collectives are
/// theirs, not leat's. Throws violation.
class judge {
public:
  explicit judge(const scenario& x) : with_(x) {}

  /// A rank has loaded its seat's set: which batch its trainer needs next.
  job_position begins(const seat_life& who, const job_position& start, bool has_come_back,
                      const simulated_disk& disk);
  /// Permission was given for a batch, or for the end.
  void handed_over(const seat_life& who, const job_position& at, const row_ids& rows);
  void ended(const seat_life& who);
  /// The trainer is done with a batch, which left the job at `next`. `go_on` is called when it may
  /// go on, perhaps later: with the collective.
  void trained(const seat_life& who, const job_position& at, const job_position& next,
               const std::function<void()>& go_on);
  /// A set is stored. Gives its parts, to be restored from.
  std::vector<snapshot> stored(const job_position& at, std::uint64_t term,
                               const std::map<std::uint64_t, std::string>& parts);
  /// The disk was full: everybody is told, and the set is not tried again.
  void not_stored(const job_position& at) { not_stored_.insert(at); }
  void at_most(const char* what, std::size_t x, std::size_t most);
  void knows_term(std::uint64_t of_member, std::uint64_t of_coordinator);
  /// The job is over: everything was trained on, and stored.
  void check_end(const coordinator_state& state, const simulated_disk& disk) const;
  /// A stored set goes on with another world size, without a cluster.
  void check_elsewhere(simulated_network& net, const simulated_disk& disk);

  [[noreturn]] static void wrong(const std::string& what) { throw violation(what); }
  const run_counts_of_judge& counts() const { return counts_; }

private:
  using seat_key = std::pair<std::uint64_t, std::uint64_t>;

  bool is_replaced(const seat_life& who) const;
  bool is_fenced(const seat_life& who) const;
  /// Nobody is further ahead of the last rank than the job's rules say.
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
