#pragma once

#include "runtime/sources/feed/feed_input.hpp"
#include "runtime/sources/feed/inputs/nats_talk.hpp"
#include "runtime/sources/feed/inputs/queue_address.hpp"
#include "runtime/sources/feed/inputs/queue_session.hpp"

#include <memory>
#include <string>

namespace leat {

/// A stream of NATS JetStream, which a durable consumer reads. A record is a message, its place the
/// message's number in the stream.
struct nats_stream {
  queue_place at = {};
  nats_login login = {};
  std::string stream = {};
  std::string consumer = {};
  /// Of these subjects only, or empty.
  std::string filter = {};
};

/// nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT]/STREAM?consumer=&subject=&patience=, and tls://, which
/// also has ca=, cert= and key=. Without a user there, NATS_USER and NATS_PASSWORD of the
/// environment are it. Throws `errc::invalid_argument`.
nats_stream nats_stream_of(queue_address from, const queue_environment& variable);

std::shared_ptr<feed_input> nats_input(nats_stream from);

} // namespace leat
