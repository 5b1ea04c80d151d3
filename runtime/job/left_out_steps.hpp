#pragma once

#include "runtime/base/step_ranges.hpp"

#include <cstdint>
#include <vector>

namespace leat {

/// Steps whose batches a job does not hand over: those that the caller named, and those of the
/// snapshot that it was restored from.
class left_out_steps {
public:
  /// Adds steps to a job that stands at step `now`. Steps in the past must be left out already: a
  /// job that is started again names the same steps again. Throws `errc::invalid_argument`.
  void add(const step_range& steps, std::uint64_t now);

  /// What a job that is restored at step `now` leaves out: the snapshot's steps and those that the
  /// caller named. Throws as `add`.
  left_out_steps restored(const std::vector<step_range>& of_snapshot, std::uint64_t now) const;

  bool contains(std::uint64_t step) const noexcept { return all_.contains(step); }
  const std::vector<step_range>& ranges() const noexcept { return all_.ranges(); }

private:
  step_set all_;
  /// Those that the caller named, whichever snapshot is restored.
  std::vector<step_range> named_;
};

} // namespace leat
