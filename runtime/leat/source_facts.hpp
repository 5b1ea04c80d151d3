#pragma once

#include <leat/hash128.hpp>

#include <cstdint>

namespace leat {

/// What a snapshot keeps about a source, to refuse different data.
struct source_facts {
  /// Number of stored files.
  std::uint64_t files = 0;
  std::uint64_t records = 0;
  /// Stored bytes of all files.
  std::uint64_t bytes = 0;
  /// Over relative names, sizes and record counts of the files, but not times and directories.
  hash128 digest;

  friend bool operator==(const source_facts&, const source_facts&) = default;
};

} // namespace leat
