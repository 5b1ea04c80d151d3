#pragma once

#include "runtime/sources/feed/feed_input.hpp"
#include "runtime/sources/feed/inputs/queue_address.hpp"

#include <memory>
#include <string>

namespace leat {

/// The queue at an address: redis://HOST[:PORT]/STREAM, nats://HOST[:PORT]/STREAM, tcp://HOST:PORT,
/// with the parameters that docs/queues.md lists. Connects to nothing. Throws
/// `errc::invalid_argument`, without what may be a secret.
std::shared_ptr<feed_input> feed_input_of(const std::string& url,
                                          const queue_environment& variable = process_variable);

} // namespace leat
