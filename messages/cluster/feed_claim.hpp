#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace leat {

/// That a job may have.
inline constexpr std::size_t most_feeds_of_job = 64;

/// Which records a feed serves to a job: those with this id, or to no rank any.
struct feed_claim {
  std::string name = {};
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool has_journal = false;
  /// Of a rank: a coordinator has said so; otherwise they were only offered.
  bool is_decided = false;

  friend bool operator==(const feed_claim&, const feed_claim&) = default;
};

} // namespace leat
