#pragma once

#include <leat/batch.hpp>
#include <leat/pipeline.hpp>
#include <leat/tokenize.hpp>

#include "tools/leat/tokenize/tokenizer_choice.hpp"

#include <optional>
#include <string>
#include <vector>

namespace leat::command {

/// What the tokens in a job's batches say.
class row_texts {
public:
  /// `by` is the tokenizer; without a file, that of the job's first `tokenize@1` or
  /// `sentencepiece@1`. Throws `errc::invalid_argument` for a job without tokens or without a
  /// tokenizer, and what reading the tokenizer's file throws.
  row_texts(const pipeline& job, const tokenizer_choice& by);

  /// The text of each valid row: of all tokens in it, special ones and padding included.
  std::vector<std::string> of(const batch& x) const;

private:
  std::string field_;
  std::optional<token_decoder> decoder_;
};

} // namespace leat::command
