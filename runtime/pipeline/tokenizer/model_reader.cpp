#include "runtime/pipeline/tokenizer/model_reader.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace leat {

namespace {

/// The characters by which a byte-level vocabulary writes bytes.
std::array<char32_t, num_bytes> byte_characters() {
  std::array<char32_t, num_bytes> all{};
  char32_t other = 0x100;
  for (char32_t i = 0; i < num_bytes; ++i) {
    const bool is_itself = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
    all[i] = is_itself ? i : other++;
  }
  return all;
}

class json_model_reader {
public:
  json_model_reader(bool is_byte_level, tokenizer_parts& to)
      : is_byte_level_(is_byte_level), parts_(to) {}

  ids_by_text read(const file_part& x) {
    const auto type = x.type();
    if (type == "BPE")
      byte_pairs_of(x);
    else if (type == "WordPiece" && !is_byte_level_)
      word_pieces_of(x);
    else if (type == "Unigram" && !is_byte_level_)
      likely_pieces_of(x);
    else
      unsupported("a model of the type " + excerpt(type)
                  + (type == "WordPiece" || type == "Unigram" ? " after ByteLevel" : ""));
    return std::move(ids_);
  }

private:
  [[noreturn]] static void unsupported(const std::string& what) {
    throw unsupported_tokenizer(what);
  }

  void byte_pairs_of(const file_part& x) {
    if (!x.at("dropout").is_null() && !((*x.at("dropout")).is_number() && *x.at("dropout") == 0))
      unsupported("a model with dropout");
    for (const auto* name : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!x.at(name).text_or("").empty())
        unsupported(std::string{name} + " in the model");
    vocabulary(x.at("vocab"));
    merges(x.at("merges"));
    is_byte_level_ ? begin_with_bytes(x) : begin_with_characters(x);
    if (x.at("ignore_merges").flag_or(false))
      for (const auto& [text, id] : ids_)
        if (auto plain = plain_text(text))
          pairs_.whole.emplace(std::move(*plain), id);
    make_texts();
    if (pairs_.has_bytes && !is_byte_level_)
      for (std::size_t i = 0; i < num_bytes; ++i)
        put_text(pairs_.bytes[i], std::string(1, static_cast<char>(i)));
    parts_.model = std::move(pairs_);
  }

  void vocabulary(const file_part& x) {
    if (!(*x).is_object())
      x.refuse("an object of tokens and numbers");
    for (const auto& [text, id] : (*x).items()) {
      const auto number = file_part{id, "the number of " + excerpt(text)}.number();
      ids_.emplace(text, number);
    }
  }

  token_id id_of(const std::string& text) const {
    const auto found = ids_.find(text);
    if (found == ids_.end())
      throw std::invalid_argument("the merge of " + excerpt(text)
                                  + ", which is no token, needed merges of tokens");
    return found->second;
  }

  void merges(const file_part& x) {
    std::uint32_t rank = 0;
    for (const auto& each : x.list()) {
      std::string left;
      std::string right;
      if ((*each).is_array() && (*each).size() == 2) {
        left = file_part{(*each)[0], "a merge"}.text();
        right = file_part{(*each)[1], "a merge"}.text();
      } else {
        const auto text = each.text();
        const auto space = text.find(' ');
        if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
          each.refuse("merges of two tokens each");
        left = text.substr(0, space);
        right = text.substr(space + 1);
      }
      pairs_.merges.push_back({id_of(left), id_of(right), rank++, id_of(left + right)});
    }
  }

  /// The bytes that a token's text stands for; nothing if it stands for none.
  std::optional<std::string> plain_text(const std::string& text) const {
    if (!is_byte_level_)
      return text;
    static const auto by_character = [] {
      std::unordered_map<char32_t, char> all;
      const auto characters = byte_characters();
      for (std::size_t i = 0; i < num_bytes; ++i)
        all.emplace(characters[i], static_cast<char>(i));
      return all;
    }();
    std::string plain;
    for (const auto* at = text.data(); at != text.data() + text.size();) {
      const auto x = decode_character(at);
      const auto found = by_character.find(x.code_point);
      if (found == by_character.end())
        return std::nullopt;
      plain += found->second;
      at += x.size;
    }
    return plain;
  }

  void begin_with_bytes(const file_part& x) {
    const auto characters = byte_characters();
    for (std::size_t i = 0; i < num_bytes; ++i) {
      std::string text;
      append_utf8(text, characters[i]);
      const auto found = ids_.find(text);
      pairs_.bytes[i] = found == ids_.end() ? instead_of_byte(x, i) : found->second;
    }
  }

  /// What stands for a byte that is no token.
  token_id instead_of_byte(const file_part& x, std::size_t byte) const {
    const auto unknown = x.at("unk_token");
    if (x.at("byte_fallback").flag_or(false)
        || (!unknown.is_null() && x.at("fuse_unk").flag_or(false)))
      unsupported("a byte-level vocabulary without the byte " + std::to_string(byte)
                  + ", for which other tokens stand");
    return unknown.is_null() ? no_token : unknown_of(unknown);
  }

  token_id unknown_of(const file_part& x) const {
    const auto found = ids_.find(x.text());
    if (found == ids_.end())
      unsupported("an unk_token that is no token");
    return found->second;
  }

  void begin_with_characters(const file_part& x) {
    auto& to = pairs_;
    for (const auto& [text, id] : ids_)
      if (!text.empty() && utf8_length(text) == text.size())
        to.characters.emplace(decode_character(text.data()).code_point, id);
    if (to.characters.empty())
      unsupported("a vocabulary without characters");
    to.has_bytes = x.at("byte_fallback").flag_or(false);
    if (to.has_bytes)
      to.bytes = tokens_of_bytes();
    if (const auto unknown = x.at("unk_token"); !unknown.is_null() && !to.has_bytes)
      to.unknown = unknown_of(unknown);
    to.fuses_unknown = x.at("fuse_unk").flag_or(false);
    cut_between_tokens(x);
  }

  /// Not where an unknown character is left out, so that those beside it meet, nor where a text
  /// that is a token as a whole is not merged.
  void cut_between_tokens(const file_part& x) {
    const auto& of = pairs_;
    if ((!of.has_bytes && of.unknown == no_token) || x.at("ignore_merges").flag_or(false))
      return;
    std::set<token_id> not_texts{of.unknown};
    if (of.has_bytes)
      not_texts.insert(of.bytes.begin(), of.bytes.end());
    if (std::any_of(of.merges.begin(), of.merges.end(), [&](const auto& each) {
          return not_texts.contains(each.left) || not_texts.contains(each.right);
        }))
      return; // what stands for characters without a token becomes part of one
    token_seams seams;
    for (const auto& [text, id] : ids_)
      seams.add_token(text);
    if (!of.has_bytes && of.fuses_unknown)
      seams.keep_unknown_together();
    parts_.steps.emplace_back(seams);
  }

  void put_text(token_id id, std::string text) {
    parts_.texts.insert_or_assign(id, std::move(text));
  }

  void make_texts() {
    for (const auto& [text, id] : ids_)
      put_text(id, is_byte_level_ ? plain_text(text).value_or(text) : with_spaces(text));
  }

  /// The text of a token with spaces as they were.
  static std::string with_spaces(std::string text) {
    constexpr std::string_view space = "\u2581";
    for (auto at = text.find(space); at != std::string::npos; at = text.find(space, at + 1))
      text.replace(at, space.size(), " ");
    return text;
  }

  /// By byte, the token that stands for it among characters.
  std::array<token_id, num_bytes> tokens_of_bytes() const {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::array<token_id, num_bytes> all{};
    for (std::size_t i = 0; i < num_bytes; ++i) {
      const auto found = ids_.find(std::string{"<0x"} + digits[i >> 4] + digits[i & 15] + '>');
      if (found == ids_.end())
        unsupported("byte_fallback without a token for the byte " + std::to_string(i));
      all[i] = found->second;
    }
    return all;
  }

  void word_pieces_of(const file_part& x) {
    vocabulary(x.at("vocab"));
    word_pieces::model model;
    const auto unknown = ids_.find(x.at("unk_token").text_or("[UNK]"));
    if (unknown == ids_.end())
      unsupported("an unk_token that is no token");
    model.unknown = unknown->second;
    if (const auto most = x.at("max_input_chars_per_word"); !most.is_null())
      model.most_characters = most.number();
    const auto prefix = x.at("continuing_subword_prefix").text_or("##");
    for (const auto& [text, id] : ids_) {
      const bool continues = text.size() > prefix.size() && text.starts_with(prefix);
      if (!text.empty())
        model.begins.emplace_back(text, id);
      if (continues)
        model.continues.emplace_back(text.substr(prefix.size()), id);
      put_text(id, continues && !prefix.empty() ? text.substr(prefix.size()) : ' ' + text);
    }
    parts_.model = std::move(model);
  }

  void likely_pieces_of(const file_part& x) {
    likely_pieces::model model;
    for (const auto& each : x.at("vocab").list()) {
      const auto piece = each.list();
      if (piece.size() != 2 || !(*piece[1]).is_number())
        each.refuse("tokens with a score each");
      const auto text = piece[0].text();
      const auto id = static_cast<token_id>(model.pieces.size());
      if (text.empty() || id == most_tokens)
        unsupported("a token that is empty, or too many");
      ids_.insert_or_assign(text, id); // of equal ones the last counts
      model.pieces.emplace_back(text, (*piece[1]).get<double>());
      put_text(id, with_spaces(text));
    }
    model.unknown = x.at("unk_id").is_null() ? no_token : x.at("unk_id").number();
    if (model.unknown >= model.pieces.size())
      unsupported("a unigram model without an unknown token");
    model.has_bytes = x.at("byte_fallback").flag_or(false);
    if (model.has_bytes) {
      model.bytes = tokens_of_bytes();
      for (std::size_t i = 0; i < num_bytes; ++i)
        put_text(model.bytes[i], std::string(1, static_cast<char>(i)));
    }
    parts_.model = std::move(model);
  }

  bool is_byte_level_;
  tokenizer_parts& parts_;
  byte_pairs::model pairs_;
  ids_by_text ids_;
};

} // namespace

ids_by_text read_model(const file_part& x, bool is_byte_level, tokenizer_parts& to) {
  return json_model_reader{is_byte_level, to}.read(x);
}

} // namespace leat
