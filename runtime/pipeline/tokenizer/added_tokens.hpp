#pragma once

#include "runtime/pipeline/sentencepiece/piece_trie.hpp"
#include "runtime/pipeline/tokenizer/byte_pairs.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// A text that is one token wherever it stands.
struct added_token {
  std::string text;
  token_id id;
  /// Not within a word.
  bool single_word = false;
  /// White space before it belongs to it, and after it.
  bool takes_left = false;
  bool takes_right = false;
  /// Looked for in the normalized text.
  bool normalized = false;
  bool special = false;
};

/// Finds tokens in texts: from the left, of several that begin at one place the longest. Any
/// thread.
class added_tokens {
public:
  /// Different texts, none of them empty.
  explicit added_tokens(std::vector<added_token> all);

  bool empty() const noexcept { return all_.empty(); }

  struct place {
    /// Of the token with all that belongs to it.
    std::size_t begin;
    std::size_t end;
    token_id token;
    /// Where to look for the next one: white space that belongs to this one may begin it.
    std::size_t next;
  };
  /// The first token from `from` on in a text of valid UTF-8, which is taken up to `done`: white
  /// space before that belongs to no other one. With `skips_special`, special tokens are text.
  std::optional<place> find(std::string_view text, std::size_t done, std::size_t from,
                            bool skips_special) const;

private:
  std::vector<added_token> all_;
  piece_trie trie_;
  std::array<bool, 256> begins_{};
};

} // namespace leat
