#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

// The client protocol of NATS, as plain values. What a server sends is read without trust.

/// Bytes lie where they were read from.
struct nats_message {
  enum class kind : std::uint8_t { info, message, ping, pong, ok, error };

  kind is = kind::ok;
  std::string_view subject = {};
  /// Where to answer, or empty.
  std::string_view reply = {};
  /// Of a message, with "NATS/1.0" and all line ends; empty if it has none.
  std::string_view header = {};
  /// Of a message; the JSON of an info, the text of an error.
  std::string_view payload = {};

  /// 408 of "NATS/1.0 408 Request Timeout"; 0 if the header has no status.
  unsigned status() const noexcept;
};

/// The beginning of what a server has sent.
struct nats_read {
  enum class state : std::uint8_t {
    whole,
    /// More has to come: the message has at least `size` bytes.
    part,
    /// No message begins like this.
    wrong,
  };
  state now = state::part;
  nats_message message = {};
  /// Of a whole message: its bytes.
  std::size_t size = 0;
};

/// A server may be told to take more than this, which it advises against itself.
inline constexpr std::size_t most_nats_bytes = std::size_t{64} << 20;

nats_read read_nats_message(std::string_view bytes);

/// A message as it is sent.
std::string nats_publication(std::string_view subject, std::string_view reply,
                             std::string_view payload);

/// What the reply of a message of a consumer says: $JS.ACK.STREAM.CONSUMER.TIMES.SEQUENCE..., of
/// which newer servers have a form with a domain.
struct nats_delivery {
  /// In the stream, and among all that the consumer was given.
  std::uint64_t sequence = 0;
  std::uint64_t in_consumer = 0;
  /// How many times it was given.
  std::uint64_t times = 0;
};

/// Nothing for any other subject.
std::optional<nats_delivery> nats_delivery_of(std::string_view reply);

} // namespace leat
