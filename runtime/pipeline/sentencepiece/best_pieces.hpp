#pragma once

#include "runtime/pipeline/sentencepiece/piece_model.hpp"
#include "runtime/pipeline/sentencepiece/piece_trie.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace leat {

/// A piece in a normalized text, and its id.
struct found_piece {
  std::string_view text;
  std::int32_t id;
};

/// Finds the pieces with the largest sum of scores. The arithmetic is SentencePiece's own, floats
/// and doubles alike: of nearly equal ways it has to choose the same, and so a word's pieces may
/// depend on the sum of what comes before it.
class best_pieces {
public:
  /// The model has to outlive this.
  explicit best_pieces(const piece_model& model);

  /// The best way to an end in a text.
  struct way {
    std::int32_t id = -1;
    float sum = 0;
    std::size_t begin = 0;
  };
  /// The same without rounding, where sums begin at 0, and the best of the other ways.
  struct exact_way {
    double score = 0;
    double second = 0;
    std::size_t begin = 0;
  };
  /// What `find` works with.
  struct scratch {
    std::vector<way> ways = {};
    std::vector<exact_way> exact = {};
  };

  /// Appends the pieces of a word, with `sum` as the sum of what came before; makes it the sum
  /// with the word. Returns how far from 0 other sums may be for these to be the word's pieces as
  /// well; nothing above 0 for long words, and where other pieces are nearly as good.
  float find(std::string_view word, float& sum, scratch& with, std::vector<found_piece>& to) const;

  /// The sum with pieces that are neither unknown nor defined by the model's maker.
  float sum_with(std::span<const std::int32_t> ids, float sum) const {
    for (const auto id : ids)
      sum += scores_[static_cast<std::size_t>(id)];
    return sum;
  }

private:
  double score_of(std::int32_t id, std::size_t length) const;
  template <bool is_exact>
  void follow(std::string_view word, float sum, scratch& with) const;
  float reach_of(std::size_t bytes, const scratch& with) const;

  const piece_model& model_;
  piece_trie pieces_;
  std::vector<float> scores_;
  float lowest_;
  float highest_;
  float unknown_score_;
  /// Of all pieces, and of an unknown character.
  double largest_ = 0;
};

} // namespace leat
