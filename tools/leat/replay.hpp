#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat replay`: shows the rows of one step, and their images as PNG files.
void add_replay(CLI::App& app);

} // namespace leat::command
