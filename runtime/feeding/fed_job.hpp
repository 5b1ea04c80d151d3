#pragma once

#include "runtime/feeding/fed_lanes.hpp"
#include "runtime/sources/feed/feed_client.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace leat {

/// What a job of a rank has of a feed: its client, and the records that are held or fetched. Those
/// that iterators have looked at are fetched as far as the window has room; what was read stays
/// until it has half of the window, since filters and rows read the same records. A plain value.
class fed_job {
public:
  fed_job(const std::string& name, std::uint64_t window, const lanes_of_rank& place)
      : client(name, window, place), window_(window), place_(place), lanes_(place) {}

  const lanes_of_rank& place() const noexcept { return place_; }

  /// As feed_client's. The record's content is fetched if it is there, and of the rank's lanes.
  live_source::state look(std::uint64_t number);
  /// Null if it is not here: then it is fetched before all others.
  fetched_records::content read(std::uint64_t number);
  /// As feed_client::cover.
  void cover(std::uint64_t number, std::uint64_t lane);
  /// The lanes that the job resumes with need this, one by one.
  void resume(std::uint64_t lowest, std::uint64_t behind);
  /// Records that were read and may be read again.
  std::size_t kept() noexcept { return client.records().num_read(); }
  /// Iterators wait for a record that the source has not given.
  bool is_short() const noexcept;
  const fed_lanes& lanes() const noexcept { return lanes_; }

  feed_client client;
  /// Anything was looked at, or resumed.
  bool is_used = false;
  /// Nobody is to wait any more.
  bool is_over = false;

private:
  const std::uint64_t window_;
  const lanes_of_rank place_;
  fed_lanes lanes_;
  std::uint64_t lowest_ = UINT64_MAX;
};

} // namespace leat
