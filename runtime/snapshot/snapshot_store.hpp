#pragma once

#include "runtime/rows/batch_order.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "runtime/snapshot/snapshot_names.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// A directory of snapshots. A set is the state of a job of W ranks before a step: either one file
/// per rank, named epoch-E-step-S.rank-R-of-W, which is complete when all W of them exist, or one
/// file of the whole job, named epoch-E-step-S.of-W (`job_file_writer`). If a set is stored in
/// both ways, the one file counts. Sets are ordered by epoch, step and W, never by time. Other
/// files in the directory are left alone. All ranks may save, and read, at the same time.
class snapshot_store {
public:
  explicit snapshot_store(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Writes a part: temporary file, fsync, rename, fsync of the directory; makes the directory.
  /// Then removes what is older than the newest `keep` (at least 1) complete sets of either kind,
  /// and leftover temporary files: this rank's, and, older than these sets, those of other worlds
  /// and of files of whole jobs. Only sets
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
    /// Bytes of the largest part.
    std::uint64_t largest_part = 0;
    /// The parts lie in the one file of a whole job.
    bool in_one_file = false;

    explicit operator bool() const noexcept { return !parts.empty(); }
  };

  /// The newest complete set; without parts if there is none or no directory. If two sets stand
  /// at one (epoch, step), it is that of the larger world. A set whose parts do not belong together
  /// (two runs each wrote a part of it) is skipped like an incomplete one. A torn file, or one
  /// whose name does not match its content, throws `errc::bad_snapshot` with the file; with
  /// `allow_older` its set is skipped. Throws `errc::io`.
  found newest(bool allow_older = false) const;
  /// The complete set there, chosen as in newest(true); without parts if there is none.
  found at(const job_position& place) const;

  /// True when the directory exists and has any entry.
  bool has_entries() const;

private:
  std::filesystem::path directory_;
};

/// The newest stored set that is one file.
struct found_job_file {
  /// Empty if there is none.
  std::filesystem::path path = {};
  set_name set = {};
  /// Newer ones that are torn, as "epoch 0 step 7: ...".
  std::vector<std::string> skipped = {};

  explicit operator bool() const noexcept { return !path.empty(); }
};

/// Finds it by its head and index, without reading the parts. Throws `errc::io`.
found_job_file newest_job_file(const std::filesystem::path& directory);

/// The set that `path` means: the newest complete one of a directory, as `snapshot_store::newest`
/// finds it, or the one that is the file of a whole job. Throws as that does, `errc::bad_snapshot`
/// for any other file, and `errc::not_found` where nothing has a name that only a file has.
snapshot_store::found stored_snapshot(const std::string& path, bool allow_older);

} // namespace leat
