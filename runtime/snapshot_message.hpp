#pragma once

#include "runtime/snapshot.hpp"

#include <string>
#include <string_view>

namespace leat {

/// Bytes of the Protobuf message of a snapshot (messages/wire), the same for equal values.
/// Throws `errc::invalid_argument` for a pipeline above the limits of a tree.
std::string message_of(const snapshot& x);

/// Reads what `message_of` wrote. Throws `errc::bad_snapshot` for anything else.
snapshot read_message(std::string_view bytes, const std::string& name);

/// Throws `errc::bad_snapshot` for the file `name`.
[[noreturn]] void refuse_snapshot(const std::string& name, std::string got, std::string needed);

} // namespace leat
