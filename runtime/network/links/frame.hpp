#pragma once

#include <leat/certificates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace leat {

/// What a frame is. The numbers are those on the wire; none is ever used for something else.
enum class frame_kind : std::uint32_t {
  // Before anything else, from the process that dials, and the answer to it
  // (messages/wire/link.proto).
  hello = 1,
  welcome = 2,
  refusal = 3,
  // Between a rank or an observer and the coordinator (messages/cluster).
  join = 16,
  beat = 17,
  part = 18,
  word = 19,
  look = 20,
  status = 21,
  // Between a rank and a worker that makes rows for it: payloads, under credit (bulk_frame.hpp).
  credit = 24,
  /// Of the worker: what it has made.
  row = 25,
  /// Of the rank: what is to be made, and of what.
  offer = 26,
  /// Of both: whatever else there is to say, such as that something is done, declined, or not
  /// wanted any more.
  note = 27,
  // Between a rank and a feed, as well as the last one and `credit` (sources/feed):
  /// Of the feed: records that were asked for.
  records = 28,
  /// Of the rank: how far it looks, and what it needs.
  wants = 29,
};

/// What precedes the bytes of a frame: 16 bytes, little-endian.
struct frame_header {
  /// Of the bytes that follow.
  std::uint32_t length = 0;
  /// A `frame_kind`, if the peer keeps to the rules.
  std::uint32_t kind = 0;
  /// Joins an answer to its question, where there are any.
  std::uint64_t number = 0;

  friend bool operator==(const frame_header&, const frame_header&) = default;
};

inline constexpr std::size_t header_bytes = 16;

/// Bytes that are on their way out.
using byte_buffer = std::vector<char>;

std::array<char, header_bytes> bytes_of(const frame_header& x) noexcept;
/// Reads `header_bytes` bytes.
frame_header header_at(const char* bytes) noexcept;

/// Which frames may come, and how long each may be.
class frame_rules {
public:
  /// Frames of this kind may come, with at most so many bytes.
  frame_rules& allow(frame_kind kind, std::uint32_t most_bytes) noexcept;
  bool allows(const frame_header& x) const noexcept {
    return x.kind < most_.size() && x.length < most_[x.kind];
  }

private:
  /// By kind: one more than the largest length, 0 where none may come.
  std::array<std::uint64_t, 32> most_ = {};
};

/// What may come first from a process that nobody knows yet.
frame_rules hello_rules() noexcept;
/// What may answer a hello.
frame_rules answer_rules() noexcept;
/// What a coordinator hears from a process in this role; from another one nothing.
frame_rules rules_from(link_role role) noexcept;
/// What a process in this role hears from its coordinator.
frame_rules rules_to(link_role role) noexcept;

/// What a rank hears from a worker that makes rows for it, or from a feed, and a worker from its
/// rank; from others nothing.
frame_rules bulk_rules_from(link_role role) noexcept;
/// What a feed hears from a rank.
frame_rules bulk_rules_to_feed() noexcept;

/// A frame that has come.
struct frame {
  frame_header head = {};
  std::unique_ptr<char[]> bytes = {};

  frame_kind kind() const noexcept { return static_cast<frame_kind>(head.kind); }
  std::string_view body() const noexcept { return {bytes.get(), head.length}; }
};

} // namespace leat
