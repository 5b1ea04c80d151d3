#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat index`: opens the data, which builds its indexes, and prints what it holds.
void add_index(CLI::App& app);

} // namespace leat::command
