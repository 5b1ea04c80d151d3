#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat verify`: judges the logs of a job by its order. Sets `status` to 1 where it finds a
/// fault.
void add_verify(CLI::App& app, int& status);

} // namespace leat::command
