#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat make-data`: makes synthetic photographs in tar shards.
void add_make_data(CLI::App& app);

} // namespace leat::command
