#pragma once

#include <leat/hash128.hpp>
#include <leat/job_position.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// Begins an attempt in a log: every start of a job writes one. It is the only kind of line without
/// "step".
struct attempt_start {
  /// The program that wrote it; "run" is the subcommand.
  std::string program = "run";
  std::uint64_t world_size = 1;
  /// Empty if one process runs all ranks.
  std::optional<std::uint64_t> rank = {};
  /// First batch of this attempt, if it resumes after a snapshot.
  std::optional<job_position> resumed_at = {};
  /// The other ranks had not stopped: the rank's attempt before this one goes on with it.
  bool continues = false;
  /// In a cluster: its term, in which all ranks began at one place. A rank that begins a second
  /// attempt in it has not gone back: the others did not.
  std::optional<std::uint64_t> term = {};
  /// Records of the data that the job reads, and its digest.
  std::uint64_t records = 0;
  hash128 data_digest = {};

  friend bool operator==(const attempt_start&, const attempt_start&) = default;
};

/// A bad row as logs name it: `id` was due at `position`; `substitute` was delivered in its place,
/// or nothing.
struct logged_bad {
  std::uint64_t position = 0;
  std::string id;
  std::string cause;
  std::optional<std::string> substitute;

  friend bool operator==(const logged_bad&, const logged_bad&) = default;
};

/// One batch as it was handed over: valid rows only, in the order of their positions.
struct batch_line {
  std::uint64_t epoch = 0;
  /// Counted within the epoch.
  std::uint64_t step = 0;
  /// Empty for a whole global batch, as `leat order` writes it.
  std::optional<std::uint64_t> rank = {};
  std::uint64_t world_size = 1;
  std::vector<std::uint64_t> positions = {};
  /// Ids of what was delivered; as many as positions.
  std::vector<std::string> ids = {};
  /// Digest of the rows in this line.
  hash128 digest = {};
  /// One per row, or none at all.
  std::vector<hash128> pixels = {};
  std::vector<logged_bad> bad = {};

  friend bool operator==(const batch_line&, const batch_line&) = default;
};

/// One JSON object without a newline, in UTF-8, like the ids of all sources. In any other id, bytes
/// that are not UTF-8 become U+FFFD.
std::string to_json(const attempt_start& x);
std::string to_json(const batch_line& x);

} // namespace leat
