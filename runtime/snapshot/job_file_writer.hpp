#pragma once

#include "runtime/snapshot/job_file.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "runtime/snapshot/snapshot_names.hpp"
#include "runtime/storage/durable_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace leat {

/// Writes the parts of all ranks of a job into one file as they arrive. Holds 16 bytes per rank,
/// and what the parts have in common. Until `finish` the file has a temporary name, and nobody
/// takes it for a set; without `finish` it is removed.
///
/// After `errc::io` (full, read-only) the temporary file is gone, and each later call throws that
/// error again: older sets are untouched. One thread at a time.
class job_file_writer {
public:
  /// Makes the directory, and begins the file epoch-E-step-S.of-W in it. Throws `errc::io`, and
  /// `errc::invalid_argument` for a world size outside 1 to `max_world_size`.
  job_file_writer(std::filesystem::path directory, const job_position& at,
                  std::uint64_t world_size);

  /// Appends the part of one rank; in any order, each rank once. `bytes` are what `encode` gave.
  /// Throws `errc::bad_snapshot` for bytes that are not the part of this rank, or do not belong to
  /// the parts before it (as in `merge`), and for a rank that was added before. It has then written
  /// nothing, and the right part may follow.
  void add(std::uint64_t rank, std::string_view bytes);

  /// Ranks that were added.
  std::uint64_t added() const noexcept { return added_; }

  /// Writes the index; fsync, rename, fsync of the directory: the set is there. Then removes older
  /// sets and what writers left behind, as `snapshot_store::save` does, with this as a set that can
  /// be restored. Returns where the oldest remaining set stands, if older ones were removed. Throws
  /// `errc::bad_snapshot` if ranks are missing (they may still be added), `errc::invalid_argument`
  /// if `keep` is 0 or the file is finished, and `errc::io`.
  std::optional<job_position> finish(std::uint64_t keep);

private:
  void check_open() const;
  void check_part(std::uint64_t rank, const snapshot& part) const;
  /// Calls `write`, and gives the file up if that fails.
  template <class Write>
  void try_write(Write write);

  std::filesystem::path directory_;
  set_name name_;
  std::optional<durable_file> file_;
  std::optional<error> failure_;
  std::uint64_t end_ = 0;
  /// Without a length: not there yet.
  std::vector<part_place> parts_;
  std::uint64_t added_ = 0;
  /// What all parts have in common.
  std::optional<snapshot> first_;
};

} // namespace leat
