#pragma once

#include <leat/export.hpp>

namespace leat::command {

/// `leat` with these arguments: prints, and reports errors on standard error. The exit code: 0 is
/// good, 1 a failure or bad data, 2 wrong usage; subcommands may have others.
LEAT_API int run_command_line(int argc, char** argv);

} // namespace leat::command
