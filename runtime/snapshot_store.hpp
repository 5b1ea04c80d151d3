#pragma once

#include "runtime/snapshot.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// A directory of snapshots: one file a rank, named epoch-E-step-S.rank-R-of-W. A set is complete
/// when all W files are there.
class snapshot_store {
public:
  explicit snapshot_store(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Writes a part: temporary file, fsync, rename, fsync of the directory; makes the directory.
  /// Then removes sets older than the newest `keep` complete ones, and this rank's leftover
  /// temporary files. Throws `errc::io` (full, read-only); older sets are untouched then.
  void save(const snapshot& part, std::uint64_t keep) const;

  struct found {
    std::vector<snapshot> parts;
    /// Newer sets that are incomplete, as "epoch 0 step 7: 1 of 2 parts".
    std::vector<std::string> skipped;
  };

  /// The newest complete set by (epoch, step); empty when there is none or no directory.
  /// A torn file in it throws `errc::bad_snapshot`; with `allow_older` such a set is skipped.
  std::optional<found> newest(bool allow_older = false) const;

  /// True when the directory exists and has any entry.
  bool has_entries() const;

private:
  std::filesystem::path directory_;
};

} // namespace leat
