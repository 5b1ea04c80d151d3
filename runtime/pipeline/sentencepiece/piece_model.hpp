#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

enum class piece_type : std::uint8_t { normal, unknown, control, user_defined, unused, byte };

/// Whether pieces of a type are looked for in texts.
constexpr bool is_text_piece(piece_type x) {
  return x == piece_type::normal || x == piece_type::user_defined || x == piece_type::unused;
}

/// What a space in a text is within pieces.
inline constexpr std::string_view visible_space = "\u2581";

/// How a model finds the pieces of a text.
enum class piece_model_kind : std::uint8_t { unigram, bpe, words, characters };

struct vocabulary_piece {
  std::string text;
  float score = 0;
  piece_type type = piece_type::normal;
};

/// A model of SentencePiece, as its file has it. An id is the index of a piece.
struct piece_model {
  piece_model_kind kind = piece_model_kind::unigram;
  bool byte_fallback = false;
  /// The space that `add_dummy_prefix` adds comes after the text.
  bool space_is_suffix = false;
  bool add_dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
  /// The normalization's rules: see char_rules.
  std::string char_map;
  std::vector<vocabulary_piece> pieces;
  std::int32_t unknown = 0;
  /// Tokens for the beginning and the end of a text, if the model has them.
  std::optional<std::int32_t> begin = {};
  std::optional<std::int32_t> end = {};
};

/// Reads the bytes of a model file. Throws `errc::invalid_argument`, with `file` in it, for
/// anything that is not a whole and consistent model.
piece_model parse_piece_model(const std::string& bytes, const std::string& file);

/// The byte that "<0x0A>" stands for; nothing for another text.
std::optional<std::uint8_t> byte_of_piece(std::string_view text);

/// Bytes of the character that a text, not empty, begins with, by its first byte alone.
std::size_t character_bytes(std::string_view text);
/// Whether a text is valid UTF-8.
bool has_whole_characters(std::string_view text);

} // namespace leat
