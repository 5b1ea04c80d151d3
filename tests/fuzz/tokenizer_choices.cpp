#include "tests/fuzz/tokenizer_choices.hpp"

#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/tokenizer/code_points.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace leat::fuzz {

namespace {

using nlohmann::json;

constexpr std::size_t most_piece_bytes = 64;

constexpr std::array<std::string_view, 24> pieces{
    "a", "b", "A", "e",  " ",      "s",      "t",      "1",      "'", "_",  "\n", "!",
    ",", "é", "ß", "文", "\u0301", "\u2581", "\u00a0", "\u0130", "😀", "가", "ab", "  "};

constexpr std::array<std::string_view, 8> patterns{
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"(\p{Lu}?[\p{Ll}\p{M}]+|\p{N})",
    R"(\w+|[^\w\s]+)",
    R"(\s+)",
    R"(.)",
    R"([a-c]{1,2}?|b+)",
    R"([^\n]+\n?)"};

std::string piece(choices& of) {
  return std::string{pieces[of.below(pieces.size())]};
}

std::string pattern(choices& of) {
  const auto which = of.below(patterns.size() + 2);
  if (which < patterns.size())
    return std::string{patterns[which]};
  std::string any{of.take(of.below(24))};
  make_utf8(any, 0);
  return which == patterns.size() ? any : '[' + any + "]+|b";
}

json one_of(choices& of, std::initializer_list<const char*> all) {
  return all.begin()[of.below(all.size())];
}

/// Several parts as one, or the only one.
json sequence(std::vector<json> parts, const char* name) {
  if (parts.empty())
    return nullptr;
  if (parts.size() == 1)
    return std::move(parts.front());
  return {{"type", "Sequence"}, {name, std::move(parts)}};
}

// -- what is done to a text

json normalizer(choices& of) {
  switch (of.below(10)) {
  case 0:
    return {{"type", "Prepend"}, {"prepend", piece(of)}};
  case 1:
    return {{"type", "Replace"}, {"pattern", {{"String", piece(of)}}}, {"content", piece(of)}};
  case 2:
    return {{"type", "Replace"}, {"pattern", {{"Regex", pattern(of)}}}, {"content", piece(of)}};
  case 3:
    return {{"type", "BertNormalizer"},
            {"clean_text", of.flag()},
            {"handle_chinese_chars", of.flag()},
            {"lowercase", of.flag()}};
  default:
    return {{"type", one_of(of, {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"})}};
  }
}

json behavior(choices& of) {
  return one_of(of, {"Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext"});
}

json pre_tokenizer(choices& of) {
  switch (of.below(7)) {
  case 0:
    return {{"type", "Digits"}, {"individual_digits", of.flag()}};
  case 1:
    return {{"type", "Punctuation"}, {"behavior", behavior(of)}};
  case 2:
    return {{"type", one_of(of, {"Whitespace", "WhitespaceSplit", "BertPreTokenizer"})}};
  case 3:
    return {{"type", "Metaspace"},
            {"replacement", "\u2581"},
            {"prepend_scheme", one_of(of, {"always", "first", "never"})},
            {"split", of.flag()}};
  case 4:
    return {{"type", "Split"},
            {"pattern", {{"String", piece(of)}}},
            {"behavior", behavior(of)},
            {"invert", of.flag()}};
  default:
    return {{"type", "Split"},
            {"pattern", {{"Regex", pattern(of)}}},
            {"behavior", behavior(of)},
            {"invert", of.flag()}};
  }
}

/// A byte-level vocabulary writes bytes as these.
const std::array<std::string, 256>& byte_texts() {
  static const auto all = [] {
    std::array<std::string, 256> made;
    char32_t other = 0x100;
    for (char32_t i = 0; i < made.size(); ++i) {
      const bool is_itself = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
      append_utf8(made[i], is_itself ? i : other++);
    }
    return made;
  }();
  return all;
}

// -- models

class vocabulary {
public:
  /// A text that is there already keeps its number.
  void add(const std::string& text) {
    if (ids_.emplace(text, texts_.size()).second)
      texts_.push_back(text);
  }
  bool has(const std::string& text) const { return ids_.contains(text); }
  std::size_t size() const { return texts_.size(); }
  std::size_t id(const std::string& text) const { return ids_.at(text); }
  const std::vector<std::string>& texts() const { return texts_; }
  json numbers() const { return ids_; }

private:
  std::map<std::string, std::size_t> ids_;
  std::vector<std::string> texts_;
};

void add_bytes(vocabulary& to) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (std::size_t i = 0; i < 256; ++i)
    to.add(std::string{"<0x"} + digits[i >> 4] + digits[i & 15] + '>');
}

/// Pairs of a vocabulary's tokens, those that came last among them, which become tokens.
json merges(choices& of, const std::vector<std::string>& begins, vocabulary& to) {
  auto known = begins;
  auto all = json::array();
  for (auto left = of.below(64); left > 0; --left) {
    const auto pick = [&]() -> const std::string& {
      const auto n = of.below(256);
      return n < 128 ? begins[n % begins.size()] : known[known.size() - 1 - n % known.size()];
    };
    const auto first = pick();
    const auto second = pick();
    const auto whole = first + second;
    if (whole.size() > most_piece_bytes || first.find(' ') != std::string::npos
        || second.find(' ') != std::string::npos)
      continue;
    to.add(whole);
    known.push_back(whole);
    all.push_back({first, second});
  }
  return all;
}

json byte_level_pairs(choices& of, vocabulary& to, bool& has_all) {
  has_all = of.below(8) < 7;
  for (std::size_t i = 0; i < 256; ++i)
    if (has_all || i % 3 != 0)
      to.add(byte_texts()[i]);
  std::vector<std::string> begins;
  for (const auto x : pieces)
    for (const auto c : x)
      if (const auto& text = byte_texts()[static_cast<unsigned char>(c)]; to.has(text))
        begins.push_back(text);
  auto all = merges(of, begins, to);
  return {{"type", "BPE"},
          {"vocab", to.numbers()},
          {"merges", std::move(all)},
          {"ignore_merges", of.below(4) == 0}};
}

json pairs_of_characters(choices& of, vocabulary& to) {
  const bool has_bytes = of.flag();
  to.add("<unk>");
  if (has_bytes)
    add_bytes(to);
  std::vector<std::string> begins;
  for (std::size_t i = 0; i < 22; ++i)
    if (pieces[i] != " " && (i % 5 != 0 || of.flag())) {
      to.add(std::string{pieces[i]});
      begins.emplace_back(pieces[i]);
    }
  if (of.below(8) == 0)
    begins.emplace_back("<unk>");
  auto all = merges(of, begins, to);
  return {{"type", "BPE"},
          {"vocab", to.numbers()},
          {"merges", std::move(all)},
          {"byte_fallback", has_bytes},
          {"unk_token", of.flag() ? json("<unk>") : json()},
          {"fuse_unk", of.flag()},
          {"ignore_merges", of.below(4) == 0}};
}

std::string few_pieces(choices& of) {
  std::string text;
  for (auto left = 1 + of.below(5); left > 0; --left)
    text += piece(of);
  return text;
}

json word_pieces_model(choices& of, vocabulary& to) {
  to.add("[UNK]");
  for (auto left = of.below(40); left > 0; --left)
    to.add((of.flag() ? "##" : "") + few_pieces(of));
  return {{"type", "WordPiece"},
          {"vocab", to.numbers()},
          {"unk_token", "[UNK]"},
          {"continuing_subword_prefix", of.below(8) == 0 ? "" : "##"},
          {"max_input_chars_per_word", 1 + of.below(100)}};
}

json unigram_model(choices& of, vocabulary& to) {
  const bool has_bytes = of.flag();
  to.add("<unk>");
  if (has_bytes)
    add_bytes(to);
  for (auto left = of.below(40); left > 0; --left)
    to.add(few_pieces(of));
  auto scored = json::array();
  for (const auto& text : to.texts())
    scored.push_back({text, -0.25 * static_cast<double>(of.below(64))});
  return {{"type", "Unigram"},
          {"vocab", std::move(scored)},
          {"unk_id", of.below(to.size())},
          {"byte_fallback", has_bytes}};
}

// -- the file

json added_tokens_of(choices& of, const vocabulary& known, bool& keeps_bytes) {
  auto all = json::array();
  auto next = known.size();
  std::vector<std::string> texts;
  for (auto left = of.below(4); left > 0; --left) {
    auto text = few_pieces(of);
    if (std::find(texts.begin(), texts.end(), text) != texts.end())
      continue;
    const bool takes_left = of.below(4) == 3;
    const bool takes_right = of.below(4) == 3;
    // A byte of 128 or more is written as a character, which then is another token's text.
    const bool is_another =
        known.has(text) && std::any_of(text.begin(), text.end(), [](char c) { return c < 0; });
    keeps_bytes = keeps_bytes && !takes_left && !takes_right && !is_another;
    all.push_back({{"id", known.has(text) ? known.id(text) : next++},
                   {"content", text},
                   {"single_word", of.below(4) == 0},
                   {"lstrip", takes_left},
                   {"rstrip", takes_right},
                   {"normalized", of.flag()},
                   {"special", of.flag()}});
    texts.push_back(std::move(text));
  }
  return all;
}

json post_processor(choices& of) {
  switch (of.below(4)) {
  case 0:
    return {{"type", "TemplateProcessing"},
            {"single",
             {{{"SpecialToken", {{"id", "x"}}}},
              {{"Sequence", {{"id", "A"}}}},
              {{"SpecialToken", {{"id", "x"}}}}}},
            {"special_tokens", {{"x", {{"ids", {of.below(4), of.below(4)}}}}}}};
  case 1:
    return {{"type", "BertProcessing"}, {"sep", {"a", of.below(4)}}, {"cls", {"b", of.below(4)}}};
  default:
    return nullptr;
  }
}

} // namespace

made_file made_tokenizer(choices& of) {
  made_file result;
  vocabulary known;
  const auto kind = of.below(8);
  const bool is_byte_level = kind < 4;
  std::vector<json> normalizers;
  for (auto left = of.below(8) / 3; left > 0; --left)
    normalizers.push_back(normalizer(of));
  std::vector<json> steps;
  for (auto left = of.below(4); left > 0; --left)
    steps.push_back(pre_tokenizer(of));
  result.keeps_bytes = normalizers.empty();
  for (const auto& x : steps) // of the others some leave out what lies between two parts
    result.keeps_bytes = result.keeps_bytes && x["type"] == "Split" && x["behavior"] != "Removed";
  if (is_byte_level) {
    const bool adds_space = of.below(4) == 3;
    result.keeps_bytes = result.keeps_bytes && !adds_space;
    steps.push_back(
        {{"type", "ByteLevel"}, {"add_prefix_space", adds_space}, {"use_regex", of.flag()}});
  }
  bool has_all = false;
  json model;
  if (is_byte_level)
    model = byte_level_pairs(of, known, has_all);
  else if (kind < 6)
    model = pairs_of_characters(of, known);
  else
    model = kind == 6 ? word_pieces_model(of, known) : unigram_model(of, known);
  auto added = added_tokens_of(of, known, result.keeps_bytes);
  result.keeps_bytes = result.keeps_bytes && has_all;
  result.file = json{{"added_tokens", std::move(added)},
                     {"normalizer", sequence(std::move(normalizers), "normalizers")},
                     {"pre_tokenizer", sequence(std::move(steps), "pretokenizers")},
                     {"post_processor", post_processor(of)},
                     {"model", std::move(model)}}
                    .dump();
  return result;
}

std::string made_text(choices& of) {
  std::string text;
  while (of.are_left() && text.size() < 4096) {
    const auto n = of.below(256);
    if (n < 224)
      text += pieces[n % pieces.size()];
    else if (n < 240) // what came before once more: long parts, and what is remembered
      text += text.substr(text.size() - std::min<std::size_t>(text.size(), 4 * (n - 223)));
    else
      text += of.take(n - 239);
  }
  make_utf8(text, 0);
  return text;
}

} // namespace leat::fuzz
