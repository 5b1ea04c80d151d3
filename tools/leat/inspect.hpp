#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat inspect`: shows a snapshot, or the newest complete set of a directory.
void add_inspect(CLI::App& app);

} // namespace leat::command
