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

/// Adds --tokenizer, which must be given if `is_required` says so, and --encoding.
void add_tokenizer_choice(CLI::App& app, tokenizer_choice& to, bool is_required = true);

/// Whether it is a model of SentencePiece: not one whose name ends in .json, no directory, and no
/// file of ranks.
bool is_sentencepiece(const tokenizer_choice& x);

/// A map that sets `into`, i32, to the tokens of the text in `field`, which stays if `keep_text`
/// says so, by `sentencepiece` or `tokenize`. Throws as these.
map_stage tokens_by(const tokenizer_choice& x, const std::string& field, const std::string& into,
                    bool keep_text);

} // namespace leat::command
