#pragma once

#include "runtime/snapshot/snapshot.hpp"

#include <string>
#include <string_view>

namespace leat {

// The Protobuf message of a snapshot (messages/wire) in two consecutive parts; equal values give
// the same bytes.

/// In place of a type: the field is bytes.
inline constexpr std::string_view any_bytes = "bytes";
/// In front of a type: the field is ragged, and `dims` are of one element.
inline constexpr std::string_view any_number_of = "ragged ";

/// Throws `errc::invalid_argument` for a pipeline above the limits of a tree.
std::string message_of(const pipeline_facts& x);
/// All but the pipeline, with these lanes in place of its own.
void append_state(const snapshot& x, const lane_states& lanes, std::string& to);

/// Reads what they wrote. Throws `errc::bad_snapshot` for anything else.
snapshot read_message(std::string_view bytes, const std::string& name);

/// Throws `errc::bad_snapshot` for the file `name`.
[[noreturn]] void refuse_snapshot(const std::string& name, std::string got, std::string needed);

} // namespace leat
