#pragma once

#include <leat/hash128.hpp>
#include <leat/job_position.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// The line that begins an attempt in a log: every start of a job writes one. It is the only kind
/// of line without "step".
struct attempt_start {
  /// The program that wrote it; "run" is the subcommand.
  std::string program = "run";
  std::uint64_t world_size = 1;
  /// Empty if one process runs all ranks.
  std::optional<std::uint64_t> rank = {};
  /// First batch of this attempt, if it resumes after a snapshot.
  std::optional<job_position> resumed_at = {};
  /// The other ranks had not stopped: this attempt continues the rank's attempt before it.
  bool continues = false;
  /// In a cluster: its term, in which all ranks began at the same place. If a rank begins a second
  /// attempt in the same term, the others have not gone back, and nor has it.
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

/// A rank's batch as a line of a log. `Batch`: leat::batch.
template <class Batch>
batch_line line_of(const Batch& x) {
  batch_line line{.epoch = x.epoch(),
                  .step = x.step(),
                  .rank = x.rank(),
                  .world_size = x.world_size(),
                  .positions = x.positions(),
                  .ids = x.ids(),
                  .digest = x.digest(),
                  .pixels = x.content_hashes()};
  for (const auto& row : x.bad())
    line.bad.push_back({row.position, row.id, std::string{to_string(row.why)}, row.substitute});
  return line;
}

/// One JSON object without a newline, in UTF-8. The ids of all sources are UTF-8; in any other id,
/// bytes that are not become U+FFFD.
std::string to_json(const attempt_start& x);
std::string to_json(const batch_line& x);

} // namespace leat
