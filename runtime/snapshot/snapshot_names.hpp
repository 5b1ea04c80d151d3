#pragma once

#include "runtime/snapshot/snapshot.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

// Names of the files of a directory of snapshots. Those that are parsed are exactly those that are
// written.

/// A set: the state of a job of so many ranks before a step. Sets are ordered by epoch, step and
/// world size.
struct set_name {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t world_size = 0;

  // clang-tidy 14 takes the defaulted operator for a literal 0.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const set_name&, const set_name&) = default;
};

/// One rank's part of a set.
struct part_name {
  set_name set;
  std::uint64_t rank = 0;

  friend bool operator==(const part_name&, const part_name&) = default;
};

/// What a part says that it is.
part_name name_of(const snapshot& x);

/// "epoch-E-step-S.of-W", the file with all parts.
std::string to_string(const set_name& x);
/// "epoch-E-step-S.rank-R-of-W", the file of one part.
std::string to_string(const part_name& x);

std::optional<set_name> parse_set_name(std::string_view text);
std::optional<part_name> parse_part_name(std::string_view text);
/// The set of a `durable_file` that nobody has committed.
std::optional<set_name> parse_unfinished_set_name(std::string_view text);

} // namespace leat
