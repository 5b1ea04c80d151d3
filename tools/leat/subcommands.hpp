#pragma once

namespace CLI {
class App;
}

// Each adds one subcommand of `leat` (docs/command.md). `status` receives the exit code where it
// may be another one than 0.
namespace leat::command {

void add_bench(CLI::App& app);
void add_certs(CLI::App& app);
void add_cluster(CLI::App& app);
void add_coordinator(CLI::App& app, int& status);
void add_feed(CLI::App& app, int& status);
void add_graph(CLI::App& app);
void add_index(CLI::App& app);
void add_inspect(CLI::App& app);
void add_ls(CLI::App& app);
void add_make_data(CLI::App& app);
void add_order(CLI::App& app);
void add_probe(CLI::App& app);
void add_replay(CLI::App& app);
void add_run(CLI::App& app, int& status);
void add_tokenize_command(CLI::App& app);
void add_tokens_command(CLI::App& app);
void add_verify(CLI::App& app, int& status);
void add_worker(CLI::App& app, int& status);

} // namespace leat::command
