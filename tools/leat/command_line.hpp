#pragma once

#include <leat/export.hpp>

namespace leat::command {

/// Runs `leat` with these arguments; reports errors on standard error. Returns the exit code: 0 for
/// success, 1 for a failure or bad data, 2 for wrong usage; subcommands may have others.
LEAT_API int run_command_line(int argc, char** argv);

} // namespace leat::command
