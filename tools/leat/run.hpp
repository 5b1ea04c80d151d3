#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat run`: feeds a pretended training job and shows how fast.
void add_run(CLI::App& app);

} // namespace leat::command
