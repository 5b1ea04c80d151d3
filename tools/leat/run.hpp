#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat run`: runs a training job that only reads, and shows how fast.
/// `status` receives the exit code, which is not 0 if a signal ended the job.
void add_run(CLI::App& app, int& status);

} // namespace leat::command
