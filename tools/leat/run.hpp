#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat run`: feeds a pretended training job and shows how fast.
/// `status`: the exit code of a job that a signal ended.
void add_run(CLI::App& app, int& status);

} // namespace leat::command
