#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat graph`: draws what runs where in a pipeline and what limits it, without reading
/// samples.
void add_graph(CLI::App& app);

} // namespace leat::command
