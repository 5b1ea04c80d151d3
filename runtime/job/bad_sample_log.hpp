#pragma once

#include <leat/bad_sample.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// The side log of bad samples: one JSON line for each, {"epoch", "step", "rank", "position", "id",
/// "cause", "text", "substitute" (id or null)}, appended when its batch is handed over. Ranks of
/// one process may share the file, in threads of their own; processes may not.
class bad_sample_log {
public:
  /// With an empty path nothing is written. Throws `errc::invalid_argument` for an address.
  explicit bad_sample_log(std::string path);

  /// Removes what a later run of the same job will write again: lines at or after (epoch, step),
  /// and a torn last line. Rank r of `world_size` removes only lines of the ranks r, r +
  /// world_size, ...: others may have continued already. Throws `errc::io`.
  void cut(std::uint64_t epoch, std::uint64_t step, std::uint64_t rank, std::uint64_t world_size);

  /// Throws `errc::io`.
  void append(std::uint64_t epoch, std::uint64_t step, std::uint64_t rank,
              const std::vector<bad_row>& rows);

private:
  std::string path_;
};

} // namespace leat
