#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

// What JetStream answers, in JSON, as plain values. All of these are read without trust.

/// Of a request that failed.
struct nats_fault {
  /// As in HTTP: 404, there is none.
  unsigned code = 0;
  std::string text = {};
};

/// Nothing if the answer is none of a fault; code 0 if it is no JSON at all.
std::optional<nats_fault> nats_fault_of(std::string_view answer);

/// What a server says when it is connected to.
struct nats_server {
  bool has_stream_storage = false;
  bool asks_for_tls = false;
  /// It would take it.
  bool has_tls = false;
  bool asks_for_key = false;
};

/// Nothing if it is not JSON.
std::optional<nats_server> nats_server_of(std::string_view info);

struct nats_stream_state {
  /// Sequence numbers; the first is one more than the last where there is no message.
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

std::optional<nats_stream_state> nats_stream_state_of(std::string_view answer);

struct nats_consumer_state {
  /// Sequence numbers of messages in the stream: the last one that it was given, and the one up to
  /// which all are acknowledged.
  std::uint64_t delivered = 0;
  std::uint64_t acknowledged = 0;
  std::string filter = {};
  std::string acknowledges = {};
  bool is_pushed_to = false;
  /// Below 0: without a limit.
  std::int64_t most_pending = 0;
};

std::optional<nats_consumer_state> nats_consumer_state_of(std::string_view answer);

/// A message that was asked for by its number.
struct nats_stored {
  std::uint64_t sequence = 0;
  std::string payload = {};
};

std::optional<nats_stored> nats_stored_of(std::string_view answer);

/// The bytes of base64 with padding; nothing for any other text.
std::optional<std::string> base64_decoded(std::string_view text);

} // namespace leat
