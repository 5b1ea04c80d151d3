#include "tools/leat/tokenize/tokenizer_choice.hpp"

#include <leat/functions.hpp>
#include <leat/tokenize.hpp>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <system_error>

namespace leat::command {

void add_tokenizer_choice(CLI::App& app, tokenizer_choice& to, bool is_required) {
  app.add_option("--tokenizer", to.file,
                 "A tokenizer.json, a directory with one, a model of SentencePiece, or with "
                 "--encoding a file of ranks")
      ->required(is_required);
  app.add_option("--encoding", to.encoding,
                 "The encoding of a file of ranks as tiktoken has it: cl100k_base, ...");
}

bool is_sentencepiece(const tokenizer_choice& x) {
  std::error_code failure;
  return x.encoding.empty() && !x.file.ends_with(".json")
         && !std::filesystem::is_directory(x.file, failure);
}

chosen_tokenizer tokens_by(const tokenizer_choice& x, const std::string& field,
                           const std::string& into, bool keep_text) {
  if (is_sentencepiece(x))
    return {sentencepiece(x.file, {.field = field, .into = into, .keep_text = keep_text}),
            token_decoder::of_sentencepiece(x.file).last_token()};
  const token_encoder by{x.file,
                         {.field = field,
                          .into = into,
                          .type = dtype::i32,
                          .add_special_tokens = false,
                          .max_tokens = {},
                          .keep_text = keep_text,
                          .encode_special_tokens = false,
                          .encoding = x.encoding}};
  return {by.stage(), by.last_token()};
}

} // namespace leat::command
