#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/pipeline/sentencepiece/best_pieces.hpp"
#include "runtime/pipeline/sentencepiece/merged_pieces.hpp"
#include "runtime/pipeline/sentencepiece/piece_cache.hpp"
#include "runtime/pipeline/sentencepiece/piece_model.hpp"
#include "runtime/pipeline/sentencepiece/piece_normalizer.hpp"
#include "runtime/pipeline/sentencepiece/piece_trie.hpp"
#include "runtime/pipeline/tokenizer/token_seams.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Turns texts into tokens by a model, as SentencePiece's `encode` does, to the last token. Any
/// thread. Texts are cut where no piece can be, and the pieces of short parts are remembered;
/// neither has an effect on tokens.
class piece_encoder : not_copied {
public:
  explicit piece_encoder(piece_model model);
  ~piece_encoder() = default;

  /// What `encode` works with; one per thread, and for one encoder. Little is kept of what a
  /// long text takes.
  struct scratch {
    std::string normalized = {};
    std::vector<found_piece> found = {};
    std::vector<std::int32_t> ids = {};
    best_pieces::scratch best = {};
    merged_pieces::scratch merged = {};
    piece_cache known = {};
  };

  /// Makes `to` the tokens of `text`, which is UTF-8.
  void encode(std::string_view text, scratch& with, std::vector<std::int32_t>& to) const;
  std::vector<std::int32_t> encode(std::string_view text) const;

  const piece_model& model() const noexcept { return model_; }
  /// Whether the normalization's rules have the form that SentencePiece gives them.
  bool has_whole_rules() const noexcept { return normalizer_.has_whole_rules(); }

private:
  void encode_part(std::string_view part, const char* readable, float& sum, scratch& with,
                   std::vector<std::int32_t>& to) const;
  float find(std::string_view part, float& sum, scratch& with) const;
  void by_characters(std::string_view text, std::vector<found_piece>& to) const;
  void by_words(std::string_view text, std::vector<found_piece>& to) const;
  void add_tokens(const std::vector<found_piece>& pieces, std::vector<std::int32_t>& to) const;
  bool may_be_cut() const;
  std::int32_t id_of(std::string_view text) const;
  piece_type type_of(std::int32_t id) const {
    return model_.pieces[static_cast<std::size_t>(id)].type;
  }

  piece_model model_;
  piece_trie defined_;
  piece_normalizer normalizer_;
  ids_by_piece ids_;
  best_pieces best_;
  merged_pieces merged_;
  token_seams seams_;
  bool is_cut_;
  std::array<std::int32_t, 256> bytes_{};
};

} // namespace leat
