#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat verify`: checks the logs of a job against its order. Sets `status` to 1 if it finds a
/// fault.
void add_verify(CLI::App& app, int& status);

} // namespace leat::command
