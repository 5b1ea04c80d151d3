#pragma once

#include <leat/remote_options.hpp>

namespace CLI {
class App;
}

namespace leat::command {

/// Adds --endpoint, --anonymous, --requester-pays, --remote-bytes, --cache and
/// --cache-bytes. Keys and tokens come from the environment: others see a command line.
void add_remote_options(CLI::App& app, remote_options& to);

} // namespace leat::command
