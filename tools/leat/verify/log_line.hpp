#pragma once

#include "runtime/base/log_lines.hpp"

#include <string_view>
#include <variant>

namespace leat::command {

using leat::attempt_start;
using leat::batch_line;
using leat::logged_bad;

using log_line = std::variant<attempt_start, batch_line>;

using leat::to_json;

/// Reads what `to_json` wrote; ignores unknown members.
/// Throws `std::runtime_error` with what is wrong.
log_line parse_log_line(std::string_view text);

} // namespace leat::command
