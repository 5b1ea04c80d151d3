#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat order`: prints the global batches of one epoch, without reading samples.
void add_order(CLI::App& app);

} // namespace leat::command
