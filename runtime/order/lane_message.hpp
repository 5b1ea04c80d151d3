#pragma once

#include "runtime/order/lane_state.hpp"

#include <cstddef>
#include <string>

namespace leat {

// The part of a snapshot's message (messages/wire) that tells where lanes stand.

/// The base as a lane's mark holds it; made once.
const std::string& message_of(const lane_base& x);

/// Bytes of these lanes as fields of a snapshot.
std::size_t size_of_lanes(const lane_states& lanes);
/// Appends them; `size` is theirs.
void append_lanes(std::string& to, const lane_states& lanes, std::size_t size);

} // namespace leat
