#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat coordinator`. Its exit code goes to `status`.
void add_coordinator(CLI::App& app, int& status);

} // namespace leat::command
