#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat index`: opens the data, which builds the indexes of tar shards, and says what it is.
void add_index(CLI::App& app);

} // namespace leat::command
