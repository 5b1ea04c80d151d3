#pragma once

#include "runtime/sources/feed/inputs/redis_replies.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

// What Redis says of a stream, as plain values.

/// "1526919030474-55": entries of a stream come in the order of these.
struct redis_entry_id {
  std::uint64_t time = 0;
  std::uint64_t number = 0;

  friend auto operator<=>(const redis_entry_id&,
                          const redis_entry_id&) = default; // NOLINT: no pointer
};

/// Nothing for any other text.
std::optional<redis_entry_id> parse_redis_entry_id(std::string_view text);
std::string to_string(const redis_entry_id& x);
/// The id before and after it; the first and the last one stay what they are.
redis_entry_id before(redis_entry_id x) noexcept;
redis_entry_id after(redis_entry_id x) noexcept;

/// Bytes lie in the reply.
struct redis_entry {
  redis_entry_id id = {};
  std::vector<std::pair<std::string_view, std::string_view>> fields = {};
};

/// Of a reply to XREAD or XREADGROUP for one stream, in its order; none for an empty reply. Nothing
/// if it is not such a reply.
std::optional<std::vector<redis_entry>> redis_entries_of(const redis_reply& x);

/// A group of consumers, as XINFO GROUPS has it.
struct redis_group {
  /// The last entry that any of them was given.
  redis_entry_id delivered = {};
  /// How many entries it was given, where the server knows.
  std::optional<std::uint64_t> read = {};
  /// How many entries were added that none of them was given, where the server knows.
  std::optional<std::uint64_t> lag = {};
};

/// Nothing if there is no such group, or this is not such a reply.
std::optional<redis_group> redis_group_of(const redis_reply& x, std::string_view name);

/// Of a summary by XPENDING.
struct redis_pending {
  redis_entry_id first = {};
  /// Consumers that were given entries that nobody has acknowledged.
  std::vector<std::string> consumers = {};
};

/// Nothing if no entry is pending, or this is not such a reply.
std::optional<redis_pending> redis_pending_of(const redis_reply& x);

} // namespace leat
