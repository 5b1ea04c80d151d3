#pragma once

#include "runtime/sources/feed/feed_input.hpp"
#include "runtime/sources/feed/inputs/queue_address.hpp"
#include "runtime/sources/feed/inputs/queue_session.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace leat {

/// A stream of a Redis server, which a group of consumers with one consumer reads. A record is an
/// entry, its place the entry's id.
struct redis_stream {
  queue_place at = {};
  secret user = {};
  secret password = {};
  std::uint64_t database = 0;
  std::string stream = {};
  std::string group = {};
  std::string consumer = {};
  /// The field whose bytes are a record's content; empty: records are samples with all fields.
  std::string field = {};
};

/// redis://[USER:PASSWORD@]HOST[:PORT]/STREAM?group=&consumer=&field=&db=&patience=, and
/// rediss://, with TLS, which also has ca=, cert= and key=. Without a password there, REDISCLI_AUTH
/// of the environment is it. Throws `errc::invalid_argument`.
redis_stream redis_stream_of(queue_address from, const queue_environment& variable);

std::shared_ptr<feed_input> redis_input(redis_stream from);

} // namespace leat
