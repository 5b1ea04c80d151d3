#include "runtime/pipeline/sentencepiece/piece_model.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/tokenizer/rank_file.hpp"

#include <wire/sentencepiece.pb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <set>
#include <system_error>

namespace leat {

namespace {

using wire_model = wire::SentencePieceModel;

constexpr std::array kinds_by_type{piece_model_kind::unigram, piece_model_kind::bpe,
                                   piece_model_kind::words, piece_model_kind::characters};

class model_reader {
public:
  model_reader(const wire_model& from, const std::string& file) : from_(from), file_(file) {}

  piece_model read() {
    const auto& trainer = from_.trainer_spec();
    const auto& rules = from_.normalizer_spec();
    const auto type = trainer.has_model_type() ? trainer.model_type() : 1;
    if (type < 1 || type > static_cast<int>(kinds_by_type.size()))
      refuse("a model of the type " + std::to_string(type),
             "unigram (1), BPE (2), words (3) or characters (4)");
    piece_model x{.kind = kinds_by_type[static_cast<std::size_t>(type - 1)],
                  .byte_fallback = trainer.byte_fallback(),
                  .space_is_suffix = trainer.treat_whitespace_as_suffix(),
                  .add_dummy_prefix = !rules.has_add_dummy_prefix() || rules.add_dummy_prefix(),
                  .remove_extra_spaces =
                      !rules.has_remove_extra_whitespaces() || rules.remove_extra_whitespaces(),
                  .escape_spaces = !rules.has_escape_whitespaces() || rules.escape_whitespaces(),
                  .char_map = rules.precompiled_charsmap(),
                  .pieces = pieces()};
    x.unknown = only_unknown(x.pieces);
    check_bytes(x);
    x.begin = control(x.pieces, trainer.has_bos_piece() ? trainer.bos_piece() : "<s>");
    x.end = control(x.pieces, trainer.has_eos_piece() ? trainer.eos_piece() : "</s>");
    return x;
  }

private:
  [[noreturn]] void refuse(std::string got, std::string needed) const {
    throw_file_error(errc::invalid_argument, "sentencepiece@1", file_, std::move(got),
                     std::move(needed));
  }

  std::vector<vocabulary_piece> pieces() const {
    constexpr std::array types{piece_type::normal,       piece_type::unknown, piece_type::control,
                               piece_type::user_defined, piece_type::unused,  piece_type::byte};
    if (from_.pieces_size() == 0)
      refuse("no pieces", "a model file that SentencePiece wrote");
    std::set<std::string_view> texts;
    std::vector<vocabulary_piece> all;
    all.reserve(static_cast<std::size_t>(from_.pieces_size()));
    for (const auto& piece : from_.pieces()) {
      const auto type = piece.has_type() ? piece.type() : 1;
      const auto at = "piece " + std::to_string(all.size());
      if (type < 1 || type > static_cast<int>(types.size()))
        refuse(at + " of the type " + std::to_string(type), "1 to 6");
      if (piece.piece().empty() || piece.piece().find('\0') != std::string::npos)
        refuse(at + " " + excerpt(piece.piece()), "a text without zero bytes");
      if (!std::isfinite(piece.score()))
        refuse(at + " without a finite score", "a finite number");
      if (!texts.insert(piece.piece()).second)
        refuse(excerpt(piece.piece()) + " as two pieces", "each piece once");
      all.push_back({piece.piece(), piece.score(), types[static_cast<std::size_t>(type - 1)]});
    }
    return all;
  }

  std::int32_t only_unknown(const std::vector<vocabulary_piece>& all) const {
    const auto is_unknown = [](const auto& x) { return x.type == piece_type::unknown; };
    if (std::count_if(all.begin(), all.end(), is_unknown) != 1)
      refuse("a model with no unknown piece, or several", "one");
    return static_cast<std::int32_t>(std::find_if(all.begin(), all.end(), is_unknown)
                                     - all.begin());
  }

  /// With byte_fallback there is a piece for every byte, otherwise for none.
  void check_bytes(const piece_model& x) const {
    std::set<std::uint8_t> found;
    for (const auto& piece : x.pieces) {
      if (piece.type != piece_type::byte)
        continue;
      const auto byte = byte_of_piece(piece.text);
      if (!byte || !x.byte_fallback)
        refuse("the byte piece " + excerpt(piece.text), "\"<0xHH>\", with byte_fallback");
      found.insert(*byte);
    }
    if (x.byte_fallback && found.size() != 256)
      refuse("byte_fallback with pieces for " + counted(found.size(), "byte"), "all 256");
  }

  static std::optional<std::int32_t> control(const std::vector<vocabulary_piece>& all,
                                             std::string_view text) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].type == piece_type::control && all[i].text == text)
        return static_cast<std::int32_t>(i);
    return std::nullopt;
  }

  const wire_model& from_;
  const std::string& file_;
};

} // namespace

piece_model parse_piece_model(const std::string& bytes, const std::string& file) {
  constexpr auto model_stage = "sentencepiece@1";
  if (begins_as_ranks(bytes))
    refuse_ranks_without_encoding(model_stage, file);
  wire_model from;
  if (!from.ParseFromString(bytes))
    throw_file_error(errc::invalid_argument, model_stage, file,
                     "a file that is no model, or a part of one",
                     "a model file that SentencePiece wrote (NAME.model)");
  return model_reader{from, file}.read();
}

std::optional<std::uint8_t> byte_of_piece(std::string_view text) {
  constexpr std::string_view begin = "<0x";
  if (text.size() != 6 || !text.starts_with(begin) || !text.ends_with('>'))
    return std::nullopt;
  const auto digits = text.substr(begin.size(), 2);
  if (digits.find_first_not_of("0123456789ABCDEF") != std::string_view::npos)
    return std::nullopt;
  std::uint8_t byte = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
  return byte;
}

std::size_t character_bytes(std::string_view text) {
  constexpr std::array<std::size_t, 16> sizes{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return std::min(text.size(), sizes[static_cast<unsigned char>(text.front()) >> 4]);
}

bool has_whole_characters(std::string_view text) {
  while (!text.empty()) {
    const auto size = utf8_length(text);
    if (size == 0)
      return false;
    text.remove_prefix(size);
  }
  return true;
}

} // namespace leat
