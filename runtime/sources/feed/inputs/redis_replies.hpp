#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

// The protocol of Redis, version 2 (RESP2), as plain values. Replies are read without trust.

/// Bytes lie where they were read from.
struct redis_reply {
  enum class kind : std::uint8_t { nothing, text, error, number, bytes, list };

  kind is = kind::nothing;
  std::int64_t number = 0;
  /// Of a text, an error, or bytes.
  std::string_view bytes = {};
  std::vector<redis_reply> items = {};

  bool is_error() const noexcept { return is == kind::error; }
  bool is_list() const noexcept { return is == kind::list; }
  /// Bytes or a text.
  bool is_bytes() const noexcept { return is == kind::bytes || is == kind::text; }
  /// An error that begins with this word.
  bool is_error(std::string_view word) const noexcept {
    return is_error() && bytes.starts_with(word);
  }
  /// Of a list of names and values in turn: the value of a name; null if there is none.
  const redis_reply* find(std::string_view name) const noexcept;
};

/// The beginning of what a server has sent.
struct redis_read {
  enum class state : std::uint8_t {
    whole,
    /// More has to come: the reply has at least `size` bytes.
    part,
    /// No reply begins like this.
    wrong,
  };
  state now = state::part;
  redis_reply reply = {};
  /// Of a whole reply: its bytes.
  std::size_t size = 0;
};

/// Replies are nested at most this deep, and have at most so many items altogether.
inline constexpr unsigned deepest_redis_reply = 8;
inline constexpr std::size_t most_redis_items = std::size_t{1} << 20;

redis_read read_redis_reply(std::string_view bytes);

/// A command as it is sent.
std::string redis_command(const std::vector<std::string_view>& words);

} // namespace leat
