#pragma once

#include "runtime/pipeline/mix_weights.hpp"

#include <cstdint>

namespace leat {

struct epoch_geometry;
struct sample_graph;

/// Changes of the weights of a job's mix: those that the caller made, and those of the snapshot
/// that it was restored from.
class weight_changes {
public:
  /// Adds a change to a job that stands at step `now`. One in the past must have been made already:
  /// a job that is started again makes the same changes again. False if it was made already. Throws
  /// `errc::invalid_argument`, also if there are other weights from the same step on.
  bool add(const weight_phase& change, std::uint64_t now);

  /// What holds for a job that is restored at step `now`: the snapshot's changes and those that the
  /// caller made. Throws as `add`.
  weight_changes restored(const weight_phases& of_snapshot, std::uint64_t now) const;

  /// By rising steps.
  const weight_phases& all() const noexcept { return all_; }

private:
  weight_phases all_;
  /// Those that the caller made, whichever snapshot is restored.
  weight_phases named_;
};

/// The number of inputs of the mix whose weights a job can change. Throws `errc::invalid_argument`
/// if there is not just one mix, or it cannot tell steps or has a schedule by cost, or the job has
/// several epochs.
std::size_t inputs_to_weigh(const char* stage, const sample_graph& graph,
                            const epoch_geometry& shape);

/// Changes of a job of this pipeline as whole numbers, by rising steps, made before its first step.
/// Throws `errc::invalid_argument`.
weight_phases whole_changes(const char* stage, const std::vector<weight_change>& changes,
                            const sample_graph& graph, const epoch_geometry& shape);

/// Throws `errc::bad_snapshot` for changes that a job of this pipeline cannot have.
void check_restored(const weight_phases& of_snapshot, const sample_graph& graph,
                    const epoch_geometry& shape);

} // namespace leat
