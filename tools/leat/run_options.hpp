#pragma once

#include <leat/testing.hpp>

#include "tools/leat/job_options.hpp"
#include "tools/leat/training_job.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace leat::command {

/// The command line of `leat run`.
struct run_options {
  order_options order;
  /// Empty: one epoch.
  std::optional<std::uint64_t> epochs = {};
  std::uint64_t world_size = 1;
  /// Empty: all ranks in this process.
  std::optional<std::uint64_t> rank = {};
  std::size_t workers = automatic;
  std::string device = "cpu";
  std::vector<std::string> device_fields = {};
  std::string decoder = "auto";
  std::vector<std::string> resizes = {};
  dispatch_policy dispatch = dispatch_policy::on_demand;
  std::optional<transform> maps = {};
  bad_sample_policy bad_samples = bad_sample_policy::fail;
  std::string bad_log = {};
  std::string snapshot_dir = {};
  /// Empty: 100 steps. For `keep`, empty: 3 sets.
  std::optional<std::uint64_t> snapshot_every = {};
  std::optional<std::uint64_t> keep = {};
  bool resume = false;
  std::vector<std::string> allow = {};
  bool allow_older = false;
  std::uint64_t steps = UINT64_MAX;
  std::vector<std::string> left_out = {};
  std::vector<std::string> weights = {};
  /// The coordinator's address; empty: no cluster.
  std::string cluster = {};
  /// Where helpers connect; empty: LEAT_WORKERS_AT, or nowhere.
  std::string workers_at = {};
  std::string lend = "auto";
  /// Where feeds connect; empty: in a cluster somewhere, else nowhere.
  std::string feeds_at = {};
  std::string state_dir = {};
  /// Directory of this process's certificate; empty: LEAT_CLUSTER_CERTS.
  std::string certificates = {};
  bool comes_back_alone = false;
  std::optional<std::uint64_t> run_ahead = {};
  /// "MIN:MAX"; empty: the number of ranks is the world size.
  std::string elastic = {};
  std::uint64_t beat_ms = 1000;
  std::uint64_t join_within_s = 1800;
  std::string log = {};
  std::string stats = {};
  std::string trace = {};
  std::uint64_t stuck_after_ms = 300'000;
  std::uint64_t step_time_ms = 0;
  std::vector<std::string> faults = {};
  bool json = false;
};

void add_run_options(CLI::App& app, run_options& to);

/// "STEP:N". Throws `errc::invalid_argument`.
training_settings::resize parse_resize(const std::string& text);

/// "4100..4130". Throws `errc::invalid_argument`.
step_range parse_steps(const std::string& text);

/// Adds "slow:WORKER,MS", "throw:POSITION" or "die:WORKER,POSITION" to the drill.
/// Throws `errc::invalid_argument`.
void parse_fault(const std::string& text, fault_drill& to);

/// The settings of the job, in a process that may use so many cores. Throws
/// `errc::invalid_argument` if options contradict each other. Looks up where the log is, but reads
/// no file.
training_settings settings_of(const run_options& x, std::size_t cores);

/// Refuses a job without an end, and a number of epochs if there is one endless epoch. Throws
/// `errc::invalid_argument`.
void check_length(const run_options& x, const pipeline& job);

/// True if an entry of the snapshot directory is a part that another rank of the same job wrote,
/// which may have started earlier: it does not hinder this rank's fresh start. Always false if all
/// ranks are in one process.
bool belongs_to_other_rank(std::string_view entry, const run_options& x);

} // namespace leat::command
