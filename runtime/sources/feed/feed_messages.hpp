#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/value_bytes.hpp"

#include <leat/hash128.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

// What a feed, the process that reads a source that exists once, and a rank say to each other on a
// link: processes of one version of leat. An offer and a want each state all that their sender
// knows, so that the newest one is enough. All of these are read without trust: what does not fit
// is refused, and takes no memory out of proportion to its bytes.

/// A record with more bytes is an error of the feed.
inline constexpr std::size_t most_record_bytes = std::size_t{15} << 20;
inline constexpr std::size_t most_feed_name = 256;
/// Numbers of records have 63 bits.
inline constexpr std::uint64_t most_record_number = std::uint64_t{1} << 63;

/// What the content of a record is.
enum class feed_format : std::uint8_t {
  /// The bytes of a line.
  lines = 1,
  /// The fields of a sample, as `bytes_of` writes them.
  samples = 2,
};

/// Tells a feed's records from those of any other: a name for users, and 128 random bits that stay
/// with the records. Without a journal each process that reads them draws others.
struct feed_stream {
  std::string name = {};
  hash128 id = {};

  friend bool operator==(const feed_stream&, const feed_stream&) = default;
};

/// What a feed's records have cost its process so far; for people.
struct feed_costs {
  /// To all ranks: a record that was sent again counts again.
  std::uint64_t records_sent = 0;
  std::uint64_t bytes_sent = 0;
  /// Nanoseconds of processors, in the thread that reads the source, and in those that serve ranks.
  std::uint64_t reading_ns = 0;
  std::uint64_t sending_ns = 0;

  friend bool operator==(const feed_costs&, const feed_costs&) = default;
};

/// Of a feed: which records there are.
struct feed_offer {
  /// Of leat, for texts.
  std::string version = {};
  feed_stream stream = {};
  /// Random bits of the process that serves them: a copy of a journal may be served by another one.
  hash128 process = {};
  feed_format format = feed_format::lines;
  /// Records outlive the feed's process.
  bool has_journal = false;
  /// Number of the first record that is still kept, and of the one that comes next.
  std::uint64_t first = 0;
  std::uint64_t next = 0;
  /// No record comes after those.
  bool has_ended = false;
  /// Why no more records come, although the source has not ended; empty: they do.
  std::string failure = {};
  feed_costs costs = {};

  friend bool operator==(const feed_offer&, const feed_offer&) = default;
};

/// A rank's lanes: those whose number has this remainder.
struct lanes_of_rank {
  std::uint64_t lanes = 1;
  std::uint64_t world_size = 1;
  std::uint64_t rank = 0;

  /// How many these are.
  std::uint64_t size() const noexcept { return (lanes - rank + world_size - 1) / world_size; }
  /// Whether one of the records from `first` on, and below `next`, belongs to one of them.
  bool have_record_in(std::uint64_t first, std::uint64_t next) const noexcept {
    if (next <= first)
      return false;
    const auto has_lane = [&](std::uint64_t from, std::uint64_t to) {
      return from + (rank + world_size - from % world_size) % world_size < to;
    };
    const auto from = first % lanes;
    const auto to = from + (next - first); // of lanes that are counted on past the last one
    return to - from >= lanes || has_lane(from, to < lanes ? to : lanes)
           || (to > lanes && has_lane(0, to - lanes));
  }
  friend bool operator==(const lanes_of_rank&, const lanes_of_rank&) = default;
};

/// Of a rank: how far it looks, and what it needs.
struct feed_want {
  /// Its iterators look at records below this number.
  std::uint64_t looks_below = 0;
  lanes_of_rank place = {};
  /// For each of its lanes, the number below which nothing is asked for again, here or after a
  /// restore of any set that is kept.
  std::vector<std::uint64_t> covered = {};
  /// Bytes of records that it has room for, and those that it had by this link and needs no more.
  std::uint64_t window = 0;
  std::uint64_t used = 0;
  /// Nothing that it holds, or has asked for, makes another batch: it waits for records to come.
  bool is_starved = false;
  /// Records that it asks for, in the order in which it needs them. What it asked for by this link
  /// before, it does not repeat.
  std::vector<std::uint64_t> fetch = {};
  /// Of those that it has asked for: they are sent before all others, and beyond the window.
  std::vector<std::uint64_t> urgent = {};

  friend bool operator==(const feed_want&, const feed_want&) = default;
};

/// Of a feed: a record that was asked for.
struct feed_record {
  std::uint64_t number = 0;
  std::string_view content = {};

  friend bool operator==(const feed_record&, const feed_record&) = default;
};

/// For the end of a feed: "has sent 3000 records of 360000 bytes to ranks; ...".
std::string summary_of(const feed_costs& x);

std::string encode(const feed_offer& x);
std::string encode(const feed_want& x);

/// Bytes that may lie in several places.
struct feed_payload {
  std::vector<std::span<const char>> parts = {};
  std::shared_ptr<const void> owner = {};
};

/// Encodes records that come one after the other. Large ones are not copied.
class feed_record_writer : not_copied {
public:
  /// `owner` has the content; null: it is copied now.
  void add(const feed_record& x, std::shared_ptr<const void> owner = {});
  bool is_empty() const noexcept { return records_ == 0; }
  std::uint64_t num_records() const noexcept { return records_; }
  /// Bytes of their contents.
  std::size_t bytes() const noexcept { return bytes_; }
  /// What was added, once.
  feed_payload take();

private:
  struct large {
    /// What is encoded before it.
    std::size_t after = 0;
    std::string_view content = {};
    std::shared_ptr<const void> owner = {};
  };

  string_room room_;
  value_writer to_{room_};
  std::vector<large> large_;
  std::uint64_t records_ = 0;
  std::size_t bytes_ = 0;
};

std::string encode(const std::vector<feed_record>& records);

/// Nothing if the bytes are not what `encode` writes.
std::optional<feed_offer> decode_feed_offer(std::string_view bytes);
std::optional<feed_want> decode_feed_want(std::string_view bytes);
/// Contents lie where they were read from.
std::optional<std::vector<feed_record>> decode_feed_records(std::string_view bytes);

} // namespace leat
