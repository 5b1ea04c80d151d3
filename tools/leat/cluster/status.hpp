#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat cluster status`.
void add_cluster(CLI::App& app);

} // namespace leat::command
