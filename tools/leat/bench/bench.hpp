#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat bench`: measures the loader against the bare loop.
void add_bench(CLI::App& app);

} // namespace leat::command
