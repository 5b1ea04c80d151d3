#pragma once

#include "runtime/cluster/coordinator_settings.hpp"
#include "tests/cluster/simulated_job.hpp"
#include "tests/cluster/simulated_network.hpp"

namespace leat::test {

/// Rules of the protocol that a run may leave out, to see whether the judge notices.
enum class rule : std::uint8_t {
  no_lease_no_batch,
  lease_counts_from_question,
  silence_frees_no_seat,
  directory_bounds_leases,
  terms_are_durable,
  sets_are_of_one_term,
  sets_are_whole,
  parts_go_with_their_life,
  one_set_at_a_time,
  lost_sets_are_given_up,
  saves_before_moving_on,
  ends_are_repeated,
  statements_until_heard,
  nobody_leaves_early,
  trainer_names_step,
  trainer_is_fenced,
  returns_at_newest_set,
};

/// What can go wrong from outside.
enum class fault : std::uint8_t {
  kill,
  stop,
  disconnect,
  cut,
  slow,
  twin,
  leader,
  full_disk,
  /// Files of the state directory can be neither read nor written.
  broken_directory,
  /// A machine disappears with all its processes.
  host,
  /// The coordinator and rank 0, which may be one process.
  both
};

/// The kind of trouble on which a run concentrates.
enum class focus : std::uint8_t { anything, seats, ends, sets, alone, told, elastic, calm, leases };
inline constexpr std::uint64_t num_focuses = 9;

/// One run: a job, a cluster, its trainers and its weather.
struct scenario {
  std::shared_ptr<const simulated_job> job;
  coordinator_settings settings;
  job_rules rules;
  /// The most ranks.
  std::uint64_t ranks = 1;
  std::uint64_t spares = 0;
  /// A collective keeps the trainers in step; otherwise each continues by itself.
  bool lock_step = false;
  /// How many batches a rank lists ahead.
  std::size_t ahead = 2;
  virtual_time list_time{0};
  virtual_time step_time{0};
  std::uint64_t save_every = 1;
  /// Until when there are faults.
  virtual_time storm{0};
  virtual_time between_faults{0};
  std::vector<fault> faults;
  bool has_bad_sample = false;
  bool has_stranger = false;
  /// The first process that joins wants other rules, and is killed before the others join.
  bool has_false_start = false;
  std::set<rule> left_out;

  bool saves(const job_position& x) const {
    return x == job->end() || (x.step % save_every == 0 && x != job_position{});
  }
  bool keeps(rule x) const { return !left_out.contains(x); }
};

/// A random scenario; none if the chosen job cannot be run.
std::optional<scenario> make_scenario(simulated_network& net, focus where);

} // namespace leat::test
