#pragma once

#include "tests/cluster/judge.hpp"
#include "tests/cluster/scenario.hpp"
#include "tests/cluster/simulated_coordinator.hpp"
#include "tests/cluster/simulated_disk.hpp"
#include "tests/cluster/simulated_network.hpp"
#include "tests/cluster/simulated_rank.hpp"

namespace leat::test {

enum class outcome : std::uint8_t { good, skipped, wrong, stuck };

/// The outcome of a run.
struct run_result {
  outcome what = outcome::good;
  /// What was wrong, or the state of everything when nothing happened any more.
  std::string text;
  run_counts_of_judge counts;
  std::uint64_t events = 0;
  std::uint64_t faults = 0;
};

/// One run: the launcher, which starts processes late or twice, and again after they have died; and
/// the weather, which breaks what can break. The seed determines everything.
class cluster_run {
public:
  cluster_run(std::uint64_t seed, focus where, std::set<rule> left_out = {}, bool verbose = false);

  run_result result();

private:
  void start_coordinator();
  void start_rank(std::uint64_t number);
  void start_falsely();
  void start_again(simulated_process& x);
  void kill_for_a_while(simulated_process& x, bool told);
  void strike();
  void strike(fault x);
  void spoil();
  void keep_up();
  void check_failure_was_told() const;
  void note(const std::string& what) const;
  bool is_over() const;
  /// The rank that a process is given; none in an elastic job.
  std::optional<std::uint64_t> given(std::uint64_t rank) const {
    return with_->rules.is_elastic() ? std::nullopt : std::optional{rank};
  }
  std::string describe() const;
  simulated_coordinator* lead() const;
  coordinator_state state() const;
  std::vector<simulated_process*> living() const;

  simulated_network net_;
  std::optional<scenario> with_;
  std::optional<judge> judge_;
  simulated_disk disk_;
  std::optional<simulated_cluster> cluster_;
  bool verbose_;
  /// The newest process of each number.
  std::map<std::uint64_t, simulated_rank*> ranks_;
  std::optional<virtual_time> spoilt_;
  std::uint64_t faults_ = 0;
  std::uint64_t twins_ = 0;
};

} // namespace leat::test
