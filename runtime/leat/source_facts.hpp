#pragma once

#include <leat/hash128.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// Which versions of files on servers a source reads: as servers name them, by version ids, ETags,
/// generations or times of the last change.
struct stored_versions {
  /// Of more files than these the versions are not kept, but marked; of more than those, neither.
  static constexpr std::size_t most_named = 8;
  static constexpr std::size_t most_marked = 4096;

  /// Over where the files lie: servers, buckets and keys. 0: on this machine, or there are no
  /// versions of all of them.
  hash128 place = {};
  /// Over the versions.
  hash128 digest = {};
  /// The versions themselves; or two bytes of the hash of each, which is enough to tell whose has
  /// changed.
  std::vector<std::string> named = {};
  std::string marks = {};
  /// What snapshots do not keep: names and versions of the files that are named or marked.
  std::vector<std::string> files = {};
  std::vector<std::string> now = {};

  bool are_known() const noexcept { return place != hash128{}; }
  friend bool operator==(const stored_versions& a, const stored_versions& b) {
    return a.place == b.place && a.digest == b.digest;
  }
};

/// What a snapshot keeps about a source, to refuse different data.
struct source_facts {
  /// Number of stored files.
  std::uint64_t files = 0;
  std::uint64_t records = 0;
  /// Stored bytes of all files.
  std::uint64_t bytes = 0;
  /// Over relative names, sizes and record counts of the files, but not times and directories.
  hash128 digest;
  stored_versions versions = {};

  friend bool operator==(const source_facts&, const source_facts&) = default;
};

} // namespace leat
