#pragma once

#include <leat/job_position.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace leat {

/// The most bytes of one piece, so that no message delays others for long.
inline constexpr std::size_t most_piece_bytes = std::size_t{1} << 20;

/// A piece of a rank's part of a set, as a word requested it.
struct cluster_part {
  std::uint64_t term = 0;
  job_position at = {};
  std::uint64_t rank = 0;
  /// Size of the whole part.
  std::uint64_t total_bytes = 0;
  std::uint64_t offset = 0;
  std::string bytes = {};
};

} // namespace leat
