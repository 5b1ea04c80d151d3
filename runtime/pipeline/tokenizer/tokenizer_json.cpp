#include "runtime/pipeline/tokenizer/tokenizer_json.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/tokenizer/json_hash.hpp"
#include "runtime/pipeline/tokenizer/json_of_package.hpp"
#include "runtime/pipeline/tokenizer/model_reader.hpp"
#include "runtime/pipeline/tokenizer/rank_file.hpp"
#include "runtime/pipeline/tokenizer/tekken_file.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace leat {

namespace {

using nlohmann::json;

[[noreturn]] void unsupported(const std::string& what) {
  throw unsupported_tokenizer(what);
}

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
    ids_ = read_model(all_.at("model"), is_byte_level_, parts_);
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
      prepend(x.at("prepend").text());
    } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
      parts_.normalizers.emplace_back(text_form{type.ends_with('C'), type.starts_with("NFK")});
    } else if (type == "Lowercase") {
      parts_.normalizers.emplace_back(lower_step{});
    } else if (type == "StripAccents") {
      change_characters({{marks_of_package(), character_change::removed}});
    } else if (type == "BertNormalizer") {
      normalizer_of_bert(x);
    } else if (!x.is_null()) {
      unsupported("the normalizer " + excerpt(type));
    }
  }

  void prepend(std::string text) {
    if (text.empty()) // which doubles the first character
      unsupported("the normalizer \"Prepend\" of nothing");
    parts_.normalizers.emplace_back(prepend_step{std::move(text)});
  }

  void change_characters(std::initializer_list<std::pair<code_points, character_change>> changes) {
    parts_.normalizers.emplace_back(std::make_shared<const character_changes>(changes));
  }

  void normalizer_of_bert(const file_part& x) {
    if (x.at("clean_text").flag_or(true))
      change_characters({{white_space_points(), character_change::space},
                         {control_of_package(), character_change::removed}});
    if (x.at("handle_chinese_chars").flag_or(true))
      change_characters({{ideographs_of_bert(), character_change::apart}});
    const bool is_lower = x.at("lowercase").flag_or(true);
    if (x.at("strip_accents").flag_or(is_lower)) {
      parts_.normalizers.emplace_back(text_form{false, false});
      change_characters({{marks_of_bert(), character_change::removed}});
    }
    if (is_lower)
      parts_.normalizers.emplace_back(lower_step{});
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
    if (scheme == "first")
      check_first_part();
    using prefix = space_step::prefix;
    parts_.steps.emplace_back(space_step{space, scheme == "always"  ? prefix::always
                                                : scheme == "first" ? prefix::first
                                                                    : prefix::never});
    if (x.at("split").flag_or(true))
      split(pattern_of_literal(space), split_rule::with_next);
  }

  /// To the package, the first part is any that begins with the text's first character, before
  /// normalizers and prefixes change it: none, if that one is removed, or several, if it becomes
  /// several.
  void check_first_part() const {
    const bool has_prefix =
        std::any_of(parts_.steps.begin(), parts_.steps.end(),
                    [](const auto& x) { return std::holds_alternative<space_step>(x); });
    if (has_prefix || !parts_.normalizers.empty())
      unsupported("the prepend_scheme \"first\" after a normalizer or another prefix");
  }

  /// Numbers tokens as the package does, which does not believe the file's numbers.
  void added() {
    std::set<std::string> known;
    std::set<token_id> numbers;
    // Of equal tokens of a unigram model all have numbers.
    auto next = static_cast<token_id>(std::max(ids_.size(), parts_.texts.size()));
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
      const auto id = found == ids_.end() ? next++ : found->second;
      if (id != token.id || !known.insert(token.text).second || !numbers.insert(id).second)
        unsupported("the added token " + excerpt(token.text)
                    + ", whose number does not follow or is another's, or that is there twice");
      parts_.texts.insert_or_assign(id, token.text);
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
    is_in_template_ = is_in_template_ || !before.empty() || !after.empty();
  }

  void add_around(std::vector<token_id> before, const std::vector<token_id>& after) {
    if (is_in_template_) // whose tokens are texts of their own to what comes after it
      unsupported("a post-processor after a template");
    before.insert(before.end(), parts_.before.begin(), parts_.before.end());
    parts_.before = std::move(before);
    parts_.after.insert(parts_.after.end(), after.begin(), after.end());
  }

  file_part all_;
  tokenizer_parts parts_;
  ids_by_text ids_;
  bool is_byte_level_ = false;
  /// A template has put tokens around the text.
  bool is_in_template_ = false;
};

[[noreturn]] void refuse_damaged(const std::string& file) {
  throw_file_error(errc::invalid_argument, "tokenize@1", file, "no JSON, or damaged JSON",
                   "a tokenizer.json");
}

} // namespace

tokenizer_of_json parse_tokenizer_json(const std::string& text, const std::string& file,
                                       bool has_nearest_numbers) {
  try {
    const auto all = json_of_package(text, has_nearest_numbers);
    if (all.is_discarded())
      refuse_damaged(file);
    if (!all.is_object())
      throw std::invalid_argument("no object, needed a tokenizer.json");
    if (is_tekken(all))
      return {parts_of_tekken(all, file), hash_of_text(text)};
    return {tokenizer_reader{all}.read(), hash_of_tokenizer(all)};
  } catch (const json::exception&) {
    refuse_damaged(file);
  } catch (const std::invalid_argument& problem) {
    throw_file_error(errc::invalid_argument, "tokenize@1", file, problem.what(),
                     "a tokenizer.json as the package tokenizers writes it");
  }
}

} // namespace leat
