#pragma once

#include "runtime/order/input_counts.hpp"
#include "runtime/order/lane_state.hpp"
#include "runtime/pipeline/mix_weights.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <leat/bad_sample.hpp>
#include <leat/hash128.hpp>
#include <leat/pipeline_facts.hpp>
#include <leat/step_range.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Sums over everything that was handed over, by one rank or by all.
struct handed_over {
  /// Sums over all rows since the job began, and over those of the current epoch.
  hash128 digest;
  hash128 epoch_digest;
  std::uint64_t samples = 0;
  bad_counts bad{};
  /// What the inputs of mixes gave to the rows.
  input_counts given = {};
  /// True if parts of the sums are missing, after a restore from only some of the ranks' parts.
  bool partial = false;

  handed_over& operator+=(const handed_over& x);
  friend bool operator==(const handed_over&, const handed_over&) = default;
};

/// One rank's part of the state after a batch.
struct snapshot {
  pipeline_facts pipeline;
  /// The next batch to hand over.
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  /// Steps of the job before it, left out or handed over.
  std::uint64_t global_step = 0;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  handed_over sums;
  /// global_step at which this run began: 0, or where it was restored from more than one part, or
  /// from another world. From there on each rank's sums count its own rows; what was handed over
  /// before is in rank 0's. Parts of runs that began at different steps must not be added up.
  std::uint64_t began = 0;
  /// States of the rank's lanes, in rising order; empty at the beginning of an epoch, and for an
  /// indexed order.
  lane_states lanes = {};
  /// Steps of the job that were, or will be, left out.
  std::vector<step_range> left_out = {};
  /// The batch's fields, for a pipeline with a source that exists once; empty if they are not known
  /// yet.
  std::vector<field_layout> fields = {};
  /// The job's changes of the weights of its mix, by rising steps: those made, and those to come.
  weight_phases weights = {};
  /// For each source that exists once: see live_source::stream. Empty if all of these are zero.
  std::vector<hash128> feeds = {};
};

/// What an encoded snapshot begins with.
inline constexpr std::string_view snapshot_magic = "leatsnap";

/// The largest encoded snapshot. Buffers and packs with very many items come near it: `encode`
/// refuses more. No more than this is read of a file, whatever it is.
inline constexpr std::size_t max_snapshot_bytes = std::size_t{1} << 24;

/// Encodes snapshots of one pipeline, whose facts stay the same.
class snapshot_encoder {
public:
  /// Throws `errc::invalid_argument` above the limits of a tree.
  explicit snapshot_encoder(const pipeline_facts& pipeline);

  /// Encodes `x` with these lanes; its own lanes and pipeline are ignored.
  std::string operator()(const snapshot& x, const lane_states& lanes) const;

private:
  std::string pipeline_;
  bool has_versions_;
};

/// Bytes of a snapshot: magic, version, length and XXH3-128, then Protobuf (docs/snapshot.md).
/// Equal values give the same bytes; without lane states and versions of files there are less than
/// 1 KB. Throws `errc::invalid_argument` above `max_snapshot_bytes` and the limits of a tree.
std::string encode(const snapshot& x);

/// Reads what `encode` wrote, in this version or an older one. Throws `errc::bad_snapshot` for
/// anything else, with `name` in its text.
snapshot decode(std::string_view bytes, const std::string& name);

/// One difference between what a snapshot was taken of and what it is to be restored to.
struct difference {
  /// Name for `allow`: "seed", "maps", "names", ...
  std::string name;
  /// "seed: snapshot 7, pipeline 8"
  std::string text;
  /// Restoring cannot lose or repeat samples, so the caller may allow it.
  bool can_allow = false;
};

/// All differences that matter, in data order. World size, worker count, policy, directories and
/// patterns as written never matter. docs/snapshot.md lists the names, and which can be allowed
/// when.
std::vector<difference> compare(const snapshot& taken, const pipeline_facts& now);

/// Throws `errc::mismatch` with a list, one line each, of all differences whose names are not in
/// `allowed`, or that cannot be allowed.
void check(const snapshot& taken, const pipeline_facts& now,
           const std::vector<std::string>& allowed);

/// The step that a restore begins at: the snapshot's, or, if another batch size was allowed, the
/// one that stands at the same row. That may be the number of batches of the epoch: the next one
/// then begins. Throws `errc::mismatch` if no step of `now` begins at that row.
std::uint64_t step_for(const snapshot& taken, const pipeline_facts& now);

/// "no parts of ranks 1, 4": the first few that a set does not have; there may be any number.
std::string missing_ranks(const std::vector<std::uint64_t>& present, std::uint64_t world_size);

/// Throws `errc::bad_snapshot` for two parts that do not belong together: position, world size,
/// `began`, steps that are left out, changes of weights, fields, pipeline. Versions of files may
/// differ.
void check_together(const snapshot& a, const snapshot& b);

/// Adds up parts of one (epoch, step, world size). Throws `errc::bad_snapshot` for parts that do
/// not belong together (`check_together`), for a rank that occurs twice, and for no parts at all.
/// `require_all`: also for missing ranks, which it names; otherwise missing ranks make the sums
/// partial. The result does not depend on the order of the parts; its rank means nothing.
snapshot merge(const std::vector<snapshot>& parts, bool require_all);

} // namespace leat
