#pragma once

#include "runtime/order/lane_state.hpp"

#include <cstddef>
#include <string>

namespace leat {

// The part of a snapshot's message (messages/wire) that says where lanes stand.

/// The base as encoded in a lane's mark; made once.
const std::string& message_of(const lane_base& x);

/// Bytes of these lanes as fields of a snapshot.
std::size_t size_of_lanes(const lane_states& lanes);
/// Appends them; `size` is the sum of their sizes.
void append_lanes(std::string& to, const lane_states& lanes, std::size_t size);

} // namespace leat
