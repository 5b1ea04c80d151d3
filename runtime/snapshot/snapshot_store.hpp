#pragma once

#include "runtime/rows/batch_order.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// A directory of snapshots: one file per rank, named epoch-E-step-S.rank-R-of-W. A set is the W
/// files of one (epoch, step, W), and is complete when all of them exist. Sets are ordered by
/// epoch, step and W, never by time. Other files in the directory are left alone. All ranks may
/// save, and read, at the same time.
class snapshot_store {
public:
  explicit snapshot_store(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Writes a part: temporary file, fsync, rename, fsync of the directory; makes the directory.
  /// Then removes what is older than the newest `keep` (at least 1) complete sets, and leftover
  /// temporary files: this rank's, and, older than these sets, those of other worlds. Only sets
  /// that can be restored count as complete, and only those not newer than the part: a job that
  /// went back to an older set does not lose it. Returns where the oldest remaining set stands, if
  /// older ones were removed. Throws `errc::io` (full, read-only) with the file; older sets are
  /// untouched then.
  std::optional<job_position> save(const snapshot& part, std::uint64_t keep) const;
  /// Saves a part whose bytes the caller has, in the same way.
  std::optional<job_position> save(const snapshot& part, std::string_view encoded,
                                   std::uint64_t keep) const;

  struct found {
    /// In the order of their ranks; empty if there is no complete set.
    std::vector<snapshot> parts = {};
    /// Newer sets that were passed over, as "epoch 0 step 7: 1 of 2 parts, no part of rank 1".
    std::vector<std::string> skipped = {};

    explicit operator bool() const noexcept { return !parts.empty(); }
  };

  /// The newest complete set; without parts if there is none or no directory. Of two sets at one
  /// (epoch, step) it is the one of the larger world. A set whose parts do not belong together (two
  /// runs each wrote a part of it) is skipped like an incomplete one. A torn file, or one whose
  /// name does not match its content, throws `errc::bad_snapshot` with the file; with `allow_older`
  /// its set is skipped. Throws `errc::io`.
  found newest(bool allow_older = false) const;

  /// True when the directory exists and has any entry.
  bool has_entries() const;

private:
  std::filesystem::path directory_;
};

} // namespace leat
