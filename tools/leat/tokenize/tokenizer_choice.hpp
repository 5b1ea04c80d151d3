#pragma once

#include <leat/pipeline.hpp>

#include <string>

namespace CLI {
class App;
}

namespace leat::command {

/// The tokenizer that the command line names.
struct tokenizer_choice {
  std::string file = {};
  /// Of a file of ranks; empty for others.
  std::string encoding = {};
};

/// Adds --tokenizer and --encoding.
void add_tokenizer_choice(CLI::App& app, tokenizer_choice& to);

/// A map that sets `into`, i32, to the tokens of the text in `field`, which stays if `keep_text`
/// says so. Names that end in .json, directories and files of ranks are for `tokenize`, all others
/// are models of SentencePiece. Throws as these.
map_stage tokens_by(const tokenizer_choice& x, const std::string& field, const std::string& into,
                    bool keep_text);

} // namespace leat::command
