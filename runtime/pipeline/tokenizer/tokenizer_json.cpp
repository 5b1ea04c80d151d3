#include "runtime/pipeline/tokenizer/tokenizer_json.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/tokenizer/json_hash.hpp"
#include "runtime/pipeline/tokenizer/rank_file.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace leat {

namespace {

using nlohmann::json;

constexpr int most_json_depth = 30;

[[noreturn]] void unsupported(const std::string& what) {
  throw unsupported_tokenizer(what);
}

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

/// Names what a file has in a place where leat needs something else.
class file_part {
public:
  file_part(const json& x, std::string name) : x_(x), name_(std::move(name)) {}

  const json& operator*() const noexcept { return x_; }
  bool is_null() const { return x_.is_null(); }
  file_part at(const char* key) const {
    static const json nothing;
    if (!x_.is_object())
      refuse("an object");
    const auto found = x_.find(key);
    return {found == x_.end() ? nothing : *found, name_ + '.' + key};
  }
  std::string text() const {
    if (!x_.is_string())
      refuse("a text");
    return x_.get<std::string>();
  }
  std::string text_or(const char* preset) const { return is_null() ? preset : text(); }
  bool flag_or(bool preset) const {
    if (is_null())
      return preset;
    if (!x_.is_boolean())
      refuse("true or false");
    return x_.get<bool>();
  }
  token_id number() const {
    if (!x_.is_number_unsigned() || x_.get<std::uint64_t>() >= most_tokens)
      refuse("a number below " + std::to_string(most_tokens));
    return x_.get<token_id>();
  }
  std::vector<file_part> list() const {
    std::vector<file_part> all;
    if (is_null())
      return all;
    if (!x_.is_array())
      refuse("a list");
    for (const auto& item : x_)
      all.emplace_back(item, name_);
    return all;
  }
  std::string type() const { return is_null() ? "" : at("type").text_or(""); }

  [[noreturn]] void refuse(const std::string& needed) const {
    throw std::invalid_argument(name_ + ", needed " + needed);
  }

private:
  const json& x_;
  std::string name_;
};

std::shared_ptr<const split_automaton> automaton(const split_pattern& x) {
  return std::make_shared<const split_automaton>(x);
}

split_pattern pattern_in(const file_part& x) {
  if (const auto literal = x.at("String"); !literal.is_null())
    return pattern_of_literal(literal.text());
  return parse_split_pattern(x.at("Regex").text(), pattern_syntax::oniguruma);
}

split_rule rule_in(const file_part& x) {
  constexpr std::array<std::pair<std::string_view, split_rule>, 5> known{
      {{"Isolated", split_rule::isolated},
       {"Removed", split_rule::removed},
       {"Contiguous", split_rule::contiguous},
       {"MergedWithPrevious", split_rule::with_previous},
       {"MergedWithNext", split_rule::with_next}}};
  const auto name = x.text_or("Isolated");
  for (const auto& [word, rule] : known)
    if (word == name)
      return rule;
  unsupported("the behavior " + excerpt(name));
}

class tokenizer_reader {
public:
  explicit tokenizer_reader(const json& all) : all_(all, "tokenizer") {}

  tokenizer_parts read() {
    if (all_.at("model").is_null())
      all_.at("model").refuse("a model");
    normalizer(all_.at("normalizer"));
    pre_tokenizer(all_.at("pre_tokenizer"));
    model(all_.at("model"));
    added();
    post_processor(all_.at("post_processor"));
    return std::move(parts_);
  }

private:
  void normalizer(const file_part& x) {
    const auto type = x.type();
    if (type == "Sequence") {
      for (const auto& each : x.at("normalizers").list())
        normalizer(each);
    } else if (type == "Replace") {
      replace(x);
    } else if (type == "Prepend") {
      parts_.normalizers.emplace_back(prepend_step{x.at("prepend").text()});
    } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
      parts_.normalizers.emplace_back(text_form{type.ends_with('C'), type.starts_with("NFK")});
    } else if (type == "Lowercase") {
      parts_.normalizers.emplace_back(lower_step{});
    } else if (!x.is_null()) {
      unsupported("the normalizer " + excerpt(type));
    }
  }

  void replace(const file_part& x) {
    auto by = x.at("content").text();
    const auto literal = x.at("pattern").at("String");
    if (const auto what = literal.text_or(""); what.size() == 1)
      parts_.normalizers.emplace_back(replace_character_step{what[0], std::move(by)});
    else
      parts_.normalizers.emplace_back(
          replace_step{automaton(pattern_in(x.at("pattern"))), std::move(by)});
  }

  void split(const split_pattern& by, split_rule rule, bool is_inverted = false) {
    if (is_byte_level_)
      unsupported("a pre-tokenizer after ByteLevel");
    parts_.steps.emplace_back(split_step{automaton(by), rule, is_inverted});
  }

  void pre_tokenizer(const file_part& x) {
    const auto type = x.type();
    if (x.is_null())
      return;
    if (type == "Sequence") {
      for (const auto& each : x.at("pretokenizers").list())
        pre_tokenizer(each);
    } else if (type == "Split") {
      split(pattern_in(x.at("pattern")), rule_in(x.at("behavior")), x.at("invert").flag_or(false));
    } else if (type == "ByteLevel") {
      byte_level(x);
    } else if (type == "Metaspace") {
      metaspace(x);
    } else if (type == "Digits") {
      const bool single = x.at("individual_digits").flag_or(false);
      split(pattern_of_set(numbers_of_package(), false),
            single ? split_rule::isolated : split_rule::contiguous);
    } else if (type == "Punctuation") {
      split(pattern_of_set(punctuation_of_package(), false), rule_in(x.at("behavior")));
    } else if (type == "Whitespace") {
      split(parse_split_pattern(R"(\w+|[^\w\s]+)", pattern_syntax::rust), split_rule::removed,
            true);
    } else if (type == "WhitespaceSplit") {
      split(pattern_of_set(white_space_points(), false), split_rule::removed);
    } else if (type == "BertPreTokenizer") {
      split(pattern_of_set(white_space_points(), false), split_rule::removed);
      split(pattern_of_set(punctuation_of_package(), false), split_rule::isolated);
    } else {
      unsupported("the pre-tokenizer " + excerpt(type));
    }
  }

  void byte_level(const file_part& x) {
    if (is_byte_level_)
      unsupported("ByteLevel twice");
    if (x.at("add_prefix_space").flag_or(true))
      parts_.steps.emplace_back(space_step{" ", space_step::prefix::always});
    if (x.at("use_regex").flag_or(true))
      split(parse_split_pattern(pattern_of_encoding("gpt2"), pattern_syntax::oniguruma),
            split_rule::isolated);
    is_byte_level_ = true;
  }

  void metaspace(const file_part& x) {
    const auto space = x.at("replacement").text();
    auto scheme = x.at("prepend_scheme").text_or("");
    if (scheme.empty()) // as files had it before there were schemes
      scheme = x.at("add_prefix_space").flag_or(true) ? "always" : "never";
    if (scheme != "always" && scheme != "first" && scheme != "never")
      unsupported("the prepend_scheme " + excerpt(scheme));
    if (space.empty() || utf8_length(space) != space.size())
      x.at("replacement").refuse("one character");
    using prefix = space_step::prefix;
    parts_.steps.emplace_back(space_step{space, scheme == "always"  ? prefix::always
                                                : scheme == "first" ? prefix::first
                                                                    : prefix::never});
    if (x.at("split").flag_or(true))
      split(pattern_of_literal(space), split_rule::with_next);
  }

  void model(const file_part& x) {
    if (const auto type = x.type(); type != "BPE")
      unsupported("a model of the type " + excerpt(type));
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
          parts_.model.whole.emplace(std::move(*plain), id);
    make_texts();
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
      parts_.model.merges.push_back({id_of(left), id_of(right), rank++, id_of(left + right)});
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
    const bool has_unknown = !x.at("unk_token").is_null();
    const auto characters = byte_characters();
    for (std::size_t i = 0; i < num_bytes; ++i) {
      std::string text;
      append_utf8(text, characters[i]);
      const auto found = ids_.find(text);
      if (found == ids_.end() && (has_unknown || x.at("byte_fallback").flag_or(false)))
        unsupported("a byte-level vocabulary without the byte " + std::to_string(i)
                    + ", for which another token stands");
      parts_.model.bytes[i] = found == ids_.end() ? no_token : found->second;
    }
  }

  void begin_with_characters(const file_part& x) {
    auto& to = parts_.model;
    for (const auto& [text, id] : ids_)
      if (!text.empty() && utf8_length(text) == text.size())
        to.characters.emplace(decode_character(text.data()).code_point, id);
    if (to.characters.empty())
      unsupported("a vocabulary without characters");
    to.has_bytes = x.at("byte_fallback").flag_or(false);
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (std::size_t i = 0; to.has_bytes && i < num_bytes; ++i) {
      const auto found = ids_.find(std::string{"<0x"} + digits[i >> 4] + digits[i & 15] + '>');
      if (found == ids_.end())
        unsupported("byte_fallback without a token for the byte " + std::to_string(i));
      to.bytes[i] = found->second;
    }
    if (const auto unknown = x.at("unk_token"); !unknown.is_null() && !to.has_bytes) {
      const auto found = ids_.find(unknown.text());
      if (found == ids_.end())
        unsupported("an unk_token that is no token");
      to.unknown = found->second;
    }
    to.fuses_unknown = x.at("fuse_unk").flag_or(false);
    cut_between_tokens(x);
  }

  /// Not where an unknown character is left out, so that those beside it meet, nor where a text
  /// that is a token as a whole is not merged.
  void cut_between_tokens(const file_part& x) {
    const auto& of = parts_.model;
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
    if (parts_.model.has_bytes && !is_byte_level_)
      for (std::size_t i = 0; i < num_bytes; ++i)
        put_text(parts_.model.bytes[i], std::string(1, static_cast<char>(i)));
  }

  /// The text of a token with spaces as they were.
  static std::string with_spaces(std::string text) {
    constexpr std::string_view space = "\u2581";
    for (auto at = text.find(space); at != std::string::npos; at = text.find(space, at + 1))
      text.replace(at, space.size(), " ");
    return text;
  }

  /// Numbers tokens as the package does, which does not believe the file's numbers.
  void added() {
    std::unordered_map<std::string, token_id> known;
    token_id next = static_cast<token_id>(ids_.size());
    for (const auto& x : all_.at("added_tokens").list()) {
      added_token token{.text = x.at("content").text(),
                        .id = x.at("id").number(),
                        .single_word = x.at("single_word").flag_or(false),
                        .takes_left = x.at("lstrip").flag_or(false),
                        .takes_right = x.at("rstrip").flag_or(false),
                        .special = x.at("special").flag_or(false)};
      token.normalized = x.at("normalized").flag_or(!token.special);
      if (token.text.empty())
        continue;
      const auto found = ids_.find(token.text);
      const auto id = found == ids_.end() ? next : found->second;
      if (id != token.id || !known.emplace(token.text, id).second)
        unsupported("the added token " + excerpt(token.text)
                    + ", whose number does not follow, or that is there twice");
      next = std::max(next, id + 1);
      put_text(id, token.text);
      parts_.added.push_back(std::move(token));
    }
  }

  void post_processor(const file_part& x) {
    const auto type = x.type();
    if (x.is_null() || type == "ByteLevel")
      return;
    if (type == "Sequence") {
      for (const auto& each : x.at("processors").list())
        post_processor(each);
    } else if (type == "TemplateProcessing") {
      around(x);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      add_around({file_part{(*x.at("cls")).at(1), "cls"}.number()},
                 {file_part{(*x.at("sep")).at(1), "sep"}.number()});
    } else {
      unsupported("the post-processor " + excerpt(type));
    }
  }

  void around(const file_part& x) {
    std::vector<token_id> before;
    std::vector<token_id> after;
    std::size_t texts = 0;
    for (const auto& each : x.at("single").list()) {
      if (!each.at("Sequence").is_null()) {
        if (each.at("Sequence").at("id").text() != "A")
          unsupported("a template for one text that has another one");
        ++texts;
        continue;
      }
      const auto name = each.at("SpecialToken").at("id").text();
      const auto ids = x.at("special_tokens").at(name.c_str()).at("ids").list();
      for (const auto& id : ids)
        (texts == 0 ? before : after).push_back(id.number());
    }
    if (texts != 1)
      unsupported("a template without the text, or with it twice");
    add_around(before, after);
  }

  void add_around(std::vector<token_id> before, const std::vector<token_id>& after) {
    before.insert(before.end(), parts_.before.begin(), parts_.before.end());
    parts_.before = std::move(before);
    parts_.after.insert(parts_.after.end(), after.begin(), after.end());
  }

  file_part all_;
  tokenizer_parts parts_;
  std::unordered_map<std::string, token_id> ids_;
  bool is_byte_level_ = false;
};

json parsed(const std::string& text) {
  return json::parse(text, [](int depth, json::parse_event_t, const json&) {
    if (depth > most_json_depth)
      throw std::invalid_argument("deeply nested lists, needed a tokenizer.json");
    return true;
  });
}

} // namespace

tokenizer_of_json parse_tokenizer_json(const std::string& text, const std::string& file) {
  try {
    const auto all = parsed(text);
    if (!all.is_object())
      throw std::invalid_argument("no object, needed a tokenizer.json");
    return {tokenizer_reader{all}.read(), hash_of_tokenizer(all)};
  } catch (const json::exception&) {
    throw_file_error(errc::invalid_argument, "tokenize@1", file, "no JSON, or damaged JSON",
                     "a tokenizer.json");
  } catch (const std::invalid_argument& problem) {
    throw_file_error(errc::invalid_argument, "tokenize@1", file, problem.what(),
                     "a tokenizer.json as the package tokenizers writes it");
  }
}

} // namespace leat
