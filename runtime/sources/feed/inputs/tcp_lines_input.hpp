#pragma once

#include "runtime/sources/feed/feed_input.hpp"
#include "runtime/sources/feed/inputs/queue_address.hpp"
#include "runtime/sources/feed/inputs/queue_session.hpp"

#include <memory>

namespace leat {

/// tcp://HOST:PORT?patience=: a server that sends lines, which a user has written (docs/queues.md
/// has the protocol). Throws `errc::invalid_argument`.
queue_place tcp_lines_of(queue_address from);

std::shared_ptr<feed_input> tcp_lines_input(queue_place from);

} // namespace leat
