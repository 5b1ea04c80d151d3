#pragma once

#include <leat/pipeline.hpp>

#include <cstdint>
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

struct chosen_tokenizer {
  /// Sets a field, i32, to the tokens of a text.
  map_stage stage;
  /// The largest number that a token has.
  std::uint32_t last_token;
};

/// By `sentencepiece` or `tokenize`, with tokens of the text in `field`, which stays if `keep_text`
/// says so, in `into`. Throws as these.
chosen_tokenizer tokens_by(const tokenizer_choice& x, const std::string& field,
                           const std::string& into, bool keep_text);

} // namespace leat::command
