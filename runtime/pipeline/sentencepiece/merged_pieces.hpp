#pragma once

#include "runtime/pipeline/sentencepiece/best_pieces.hpp"
#include "runtime/pipeline/sentencepiece/piece_model.hpp"
#include "runtime/pipeline/sentencepiece/piece_trie.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace leat {

using ids_by_piece = std::unordered_map<std::string_view, std::int32_t>;

/// Merges the best pair of neighbours in a normalized text, as long as there is one that is a
/// piece.
class merged_pieces {
public:
  /// All have to outlive this.
  merged_pieces(const piece_model& model, const piece_trie& defined, const ids_by_piece& ids)
      : model_(model), defined_(defined), ids_(ids) {}

  /// A part of the text while pairs are merged, in a list.
  struct symbol {
    std::size_t before;
    std::size_t after;
    /// Never merged.
    bool is_fixed;
    std::string_view text;
  };
  /// Two neighbours that are a piece together.
  struct pair {
    std::size_t left;
    std::size_t right;
    float score;
    std::size_t size;
    /// The best score first, of equal ones the leftmost.
    friend bool operator<(const pair& a, const pair& b) noexcept {
      return a.score != b.score ? a.score < b.score : a.left > b.left;
    }
  };
  /// What `find` works with.
  struct scratch {
    std::vector<symbol> symbols = {};
    std::vector<pair> pairs = {};
    /// Where unused pieces have been put together; the last one of equal texts counts.
    std::unordered_map<std::string_view, std::size_t> merged_at = {};
  };

  void find(std::string_view text, scratch& with, std::vector<found_piece>& to) const;

private:
  static constexpr auto none = static_cast<std::size_t>(-1);

  void begin(std::string_view text, scratch& with) const;
  void consider(std::size_t left, std::size_t right, scratch& with) const;
  /// Adds the parts that an unused piece was merged from, down to used ones.
  void take_apart(std::string_view piece, const scratch& with, std::vector<found_piece>& to) const;
  piece_type type_of(std::int32_t id) const {
    return model_.pieces[static_cast<std::size_t>(id)].type;
  }

  const piece_model& model_;
  const piece_trie& defined_;
  const ids_by_piece& ids_;
};

} // namespace leat
