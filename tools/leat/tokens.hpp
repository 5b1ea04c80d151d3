#pragma once

namespace CLI {
class App;
}

namespace leat::command {

/// Adds `leat tokens`: counts the tokens of texts.
void add_tokens_command(CLI::App& app);

} // namespace leat::command
