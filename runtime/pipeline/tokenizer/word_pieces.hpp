#pragma once

#include "runtime/pipeline/sentencepiece/piece_trie.hpp"
#include "runtime/pipeline/tokenizer/byte_pairs.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// WordPiece: the longest token that a word begins with, then again and again the longest one that
/// its rest begins with, of those that continue words. A word of which something is left is
/// unknown. Does not change; any thread.
class word_pieces {
public:
  struct model {
    /// Texts that words begin with; different ones.
    std::vector<std::pair<std::string, token_id>> begins = {};
    /// Texts that words continue with; different ones, none of them empty.
    std::vector<std::pair<std::string, token_id>> continues = {};
    token_id unknown = no_token;
    /// Longer words are unknown.
    std::size_t most_characters = 100;
  };

  explicit word_pieces(const model& of);

  /// Appends the tokens of a word of valid UTF-8, which is not empty.
  void encode(std::string_view word, std::vector<token_id>& to) const;

private:
  piece_trie begins_;
  piece_trie continues_;
  token_id unknown_;
  std::size_t most_characters_;
};

} // namespace leat
