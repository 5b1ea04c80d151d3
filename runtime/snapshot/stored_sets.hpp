#pragma once

#include "runtime/rows/batch_order.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "runtime/snapshot/snapshot_names.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

// What a directory of snapshots has. Each set may be stored as one file, as one file per rank, or
// as both; the one file is then taken.

/// How a set is stored.
struct stored_set {
  /// All parts are in one file.
  bool has_job_file = false;
  /// Ranks with files of their own, rising.
  std::vector<std::uint64_t> ranks = {};
};

/// Newest set first.
using set_list = std::map<set_name, stored_set, std::greater<>>;

struct directory_listing {
  set_list sets;
  /// Parts that somebody is writing, or was when he died.
  std::vector<part_name> unfinished_parts = {};
  /// The same for files of whole jobs, with the names of the files.
  std::vector<std::pair<set_name, std::string>> unfinished_files = {};
};

/// Calls `see` with each entry until it returns false. A missing directory has no entries. Throws
/// `errc::io`.
void for_each_entry(const std::filesystem::path& directory,
                    const std::function<bool(const std::filesystem::directory_entry&)>& see);

/// All that leat wrote there, by names alone. Throws `errc::io`.
directory_listing list_snapshots(const std::filesystem::path& directory);

/// All parts are there, by names alone.
bool is_complete(const set_list::value_type& set);

/// The parts of all files of ranks, with bytes of the largest in `largest`. Throws
/// `errc::bad_snapshot`, and `errc::not_found` for a file that was just removed.
std::vector<snapshot> read_part_files(const std::filesystem::path& directory,
                                      const set_list::value_type& set, std::uint64_t& largest);

/// Why parts cannot be added up; empty if they can.
std::string conflict_of(const std::vector<snapshot>& parts);

/// Throws `errc::invalid_argument` for 0.
void check_keep(std::uint64_t keep);

/// Removes all sets older than the newest `keep` that can be restored, of those not newer than
/// `saved`; and leftover temporary files. `rank`: saved was this rank's part, and its leftovers are
/// removed whichever set they are of; without one it was a whole set, just written and checked, and
/// leftovers of whole sets are removed. Returns where the oldest remaining set stands, if older
/// ones were removed. Throws `errc::io`.
std::optional<job_position> prune(const std::filesystem::path& directory, const set_name& saved,
                                  std::uint64_t keep,
                                  std::optional<std::uint64_t> rank = std::nullopt);

} // namespace leat
