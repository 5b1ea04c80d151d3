#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/pipeline/sentencepiece/char_rules.hpp"
#include "runtime/pipeline/sentencepiece/piece_model.hpp"
#include "runtime/pipeline/sentencepiece/piece_trie.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace leat {

/// Turns texts into tokens by a model, as SentencePiece's `encode` does, to the last token. Any
/// thread.
class piece_encoder : not_copied {
public:
  explicit piece_encoder(piece_model model);
  ~piece_encoder() = default;

  /// `text` is UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;

  const piece_model& model() const noexcept { return model_; }
  /// Whether the normalization's rules have the form that SentencePiece gives them.
  bool has_whole_rules() const noexcept { return rules_.is_whole(); }

private:
  /// A piece in the normalized text, and its id.
  struct found_piece {
    std::string_view text;
    std::int32_t id;
  };

  std::string normalized(std::string_view text) const;
  replaced_prefix normalized_prefix(std::string_view text) const;
  std::vector<found_piece> by_unigram(std::string_view text) const;
  std::vector<found_piece> by_bpe(std::string_view text) const;
  /// Adds the parts that an unused piece was merged from, down to used ones.
  void take_apart(std::string_view piece,
                  const std::unordered_map<std::string_view, std::size_t>& merged_at,
                  std::vector<found_piece>& to) const;
  std::int32_t id_of(std::string_view text) const;
  piece_type type_of(std::int32_t id) const {
    return model_.pieces[static_cast<std::size_t>(id)].type;
  }

  piece_model model_;
  char_rules rules_;
  /// Pieces of text: normal, unused and those that the model's maker defined.
  piece_trie pieces_;
  piece_trie defined_;
  std::unordered_map<std::string_view, std::int32_t> ids_;
  std::array<std::int32_t, 256> bytes_{};
  float lowest_ = 0;
  float highest_ = 0;
};

} // namespace leat
