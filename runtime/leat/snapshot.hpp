#pragma once

#include <leat/bad_sample.hpp>
#include <leat/export.hpp>
#include <leat/hash128.hpp>
#include <leat/mix_counts.hpp>
#include <leat/pipeline.hpp>
#include <leat/pipeline_facts.hpp>
#include <leat/step_range.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace leat {

// Snapshots without a loader: which ones a directory has, and what they say. To resume from one is
// the loader's: `loader::restore`, `loader::restore_parts`.

/// What operators keep in a job's lanes, in bytes; nothing where the order is a formula.
struct lane_sizes {
  /// Lanes that have a state.
  std::uint64_t lanes = 0;
  /// In all lanes.
  std::uint64_t bytes = 0;
  std::uint64_t largest_lane = 0;
  /// For each round before the last, by its number in `plan_graph::rounds`.
  std::map<std::size_t, std::uint64_t> rounds = {};
  std::uint64_t last_round = 0;

  friend bool operator==(const lane_sizes&, const lane_sizes&) = default;
};

/// What a snapshot says: one rank's part, or parts put together.
struct snapshot_facts {
  /// What it was taken of.
  pipeline_facts pipeline;
  /// The next batch.
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  /// Steps of the job before it, left out or handed over.
  std::uint64_t global_step = 0;
  /// Ranks of the job that saved it.
  std::uint64_t world_size = 1;
  /// Parts that were put together.
  std::uint64_t parts = 1;
  /// Bytes of the largest of them.
  std::uint64_t largest_part = 0;
  /// They lie in the one file of a whole job.
  bool in_one_file = false;
  /// Sums over what was handed over since the job began, and in the current epoch.
  hash128 digest = {};
  hash128 epoch_digest = {};
  std::uint64_t samples = 0;
  bad_counts bad{};
  /// What the inputs of mixes gave since the job began; mixes in data order. If an older leat wrote
  /// the snapshot that the job resumed from, since then.
  std::vector<mix_counts> mixes = {};
  /// The sums lack what the missing parts would add.
  bool partial = false;
  /// Steps of the job that were, or will be, left out.
  std::vector<step_range> left_out = {};
  /// Changes of the weights of the job's mix (`loader::set_weights`), by rising steps: those made,
  /// and those to come.
  std::vector<weight_change> weights = {};
  lane_sizes state = {};
  /// Newer sets of a directory that were passed over: see `snapshot_set`.
  std::vector<std::string> skipped = {};
};

struct snapshot_search {
  /// Takes an older complete set where the newest has a torn file.
  bool allow_older = false;
};

/// The parts of all ranks, of one step.
struct snapshot_set {
  /// As `loader::restore_parts` takes them, in the order of their ranks; empty if there is no
  /// complete set.
  std::vector<std::string> parts = {};
  /// Newer sets that were passed over, as "epoch 0 step 7: 1 of 2 parts, no part of rank 1".
  std::vector<std::string> skipped = {};

  explicit operator bool() const noexcept { return !parts.empty(); }
};

/// The newest complete set in a directory of snapshots, with a file per rank, as `loader::save`
/// writes them, or with one file for the whole job: the one that `loader::restore` takes. Without
/// parts where there is none, or no directory. Throws `errc::bad_snapshot` for a torn file in it,
/// unless older ones are allowed, and `errc::io`.
LEAT_API snapshot_set newest_snapshot(const std::string& directory,
                                      const snapshot_search& how = {});

/// What the newest complete set of a directory says, or what a file says: one rank's part, or the
/// parts of a whole job. Throws as `newest_snapshot`, and `errc::not_found` where there is none.
LEAT_API snapshot_facts read_snapshot(const std::string& path, const snapshot_search& how = {});

/// What the bytes of `batch::snapshot()` say: those of one rank, or of several at one step, in any
/// order. Throws `errc::bad_snapshot` for other bytes, and for parts that do not belong together.
LEAT_API snapshot_facts inspect_snapshot(const std::vector<std::string>& parts);

/// The pipeline that a snapshot was taken of, made again of leat's own operators and functions, and
/// of those that this program has registered. Paths stand as they were written, and an automatic
/// end rule as it was resolved. Opens no data; sources that exist once have no journal yet. Throws
/// `errc::invalid_argument` with a list of all operators that cannot be made.
LEAT_API pipeline pipeline_of(const snapshot_facts& x);

} // namespace leat
