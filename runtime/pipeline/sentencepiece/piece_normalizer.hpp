#pragma once

#include "runtime/pipeline/sentencepiece/char_rules.hpp"
#include "runtime/pipeline/sentencepiece/piece_model.hpp"
#include "runtime/pipeline/sentencepiece/piece_trie.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>

namespace leat {

/// What a model makes of a text before it looks for pieces: characters replaced by its rules, and
/// spaces as it has them.
class piece_normalizer {
public:
  /// `defined` has the texts that stay as they are, and has to outlive this.
  piece_normalizer(const piece_model& model, const piece_trie& defined);

  /// Whether the rules have the form that SentencePiece gives them.
  bool has_whole_rules() const noexcept { return rules_.is_whole(); }

  struct result {
    std::string_view text;
    /// Whether it consists of whole characters. Rules of a damaged model may cut them, those that
    /// they replace and those that they put in their place.
    bool is_utf8 = true;
  };
  /// The text lives as long as `memory` is not changed. `text` is UTF-8.
  result run(std::string_view text, std::string& memory) const;

private:
  static constexpr std::size_t ascii = 0x80;

  replaced_prefix prefix_of(std::string_view text) const;
  std::string_view without_first_spaces(std::string_view text) const;
  /// Whether a text that begins with these two begins with a character that stays as it is.
  bool stays(char c, char next) const {
    const auto a = static_cast<unsigned char>(c);
    const auto b = static_cast<unsigned char>(next);
    return a < ascii && b < ascii && stays_[a][b];
  }

  const piece_trie& defined_;
  char_rules rules_;
  bool add_space_;
  bool space_is_suffix_;
  bool removes_spaces_;
  std::string_view space_;
  std::array<std::bitset<ascii>, ascii> stays_;
};

} // namespace leat
