#pragma once

#include "runtime/pipeline/sentencepiece/piece_trie.hpp"
#include "runtime/pipeline/tokenizer/byte_pairs.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// A unigram model as the package tokenizers has it: the cut of a text into tokens with the
/// greatest sum of scores. Does not change; any thread, each with a `scratch` of its own.
class likely_pieces {
public:
  struct model {
    /// By id, at least one: texts, none of them empty. Of equal ones the last counts.
    std::vector<std::pair<std::string, double>> pieces = {};
    token_id unknown = no_token;
    /// By byte, its token for characters that have none; all of them, or `no_token`.
    std::array<token_id, num_bytes> bytes = {};
    bool has_bytes = false;
  };

  /// The best cut of a text up to a place: its last token.
  struct cut {
    double score = 0;
    std::uint32_t begin = 0;
    token_id id = no_token;
  };
  using scratch = std::vector<cut>;

  explicit likely_pieces(model of);

  /// Appends the tokens of a text of valid UTF-8. Unknown characters side by side are one token.
  void encode(std::string_view text, scratch& with, std::vector<token_id>& to) const;

private:
  /// What is unknown together may be a piece.
  void add_unknown(std::string_view text, std::vector<token_id>& to) const;
  std::int32_t piece_of(std::string_view text) const noexcept;

  model model_;
  piece_trie trie_;
  double of_unknown_ = 0;
};

} // namespace leat
