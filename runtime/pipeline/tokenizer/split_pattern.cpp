#include "runtime/pipeline/tokenizer/split_pattern.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace leat {

namespace {

using pattern_kind = split_pattern::kind;

constexpr std::size_t most_group_depth = 50;
constexpr std::size_t most_repeats = 1000;

bool is_ascii_letter(char32_t x) {
  return (x | 0x20) >= 'a' && (x | 0x20) <= 'z';
}

/// The letters that are equal to this one without regard to case.
code_points any_case(char32_t letter) {
  const auto lower = letter | 0x20;
  code_points both = code_points{lower, lower} | code_points{lower - 0x20, lower - 0x20};
  if (lower == 's')
    both = both | code_points{0x17f, 0x17f};
  if (lower == 'k')
    both = both | code_points{0x212a, 0x212a};
  return both;
}

/// Two letters that one character of another script's forms equals without regard to case.
bool is_ligature(char32_t first, char32_t second) {
  constexpr std::array<std::u32string_view, 5> all{U"ss", U"st", U"ff", U"fi", U"fl"};
  return std::any_of(all.begin(), all.end(), [&](const auto& x) {
    return x[0] == (first | 0x20) && x[1] == (second | 0x20);
  });
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern, which has a limit
bool may_be_empty(const split_pattern& x) {
  switch (x.is) {
  case pattern_kind::character:
    return false;
  case pattern_kind::ahead:
    return true;
  case pattern_kind::sequence:
    return std::all_of(x.parts.begin(), x.parts.end(), may_be_empty);
  case pattern_kind::choice:
    return std::any_of(x.parts.begin(), x.parts.end(), may_be_empty);
  case pattern_kind::repeat:
    break;
  }
  return x.min == 0 || may_be_empty(x.parts.front());
}

class pattern_reader {
public:
  pattern_reader(std::string_view text, pattern_syntax syntax) : all_(text), syntax_(syntax) {}

  split_pattern read() {
    auto result = choice(0);
    if (!at_end())
      refuse("a closing parenthesis without an opening one");
    return result;
  }

private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw unsupported_tokenizer("the pattern " + excerpt(all_) + " with " + what);
  }

  bool at_end() const { return at_ == all_.size(); }
  bool sees(std::string_view text) const { return all_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!sees(text))
      return false;
    at_ += text.size();
    return true;
  }

  char32_t next() {
    if (at_end())
      refuse("an end in the middle");
    const auto rest = all_.substr(at_);
    if (utf8_length(rest) == 0)
      refuse("bytes that are not UTF-8");
    const auto x = decode_character(rest.data());
    at_ += x.size;
    return x.code_point;
  }

  split_pattern choice(std::size_t depth) {
    if (depth > most_group_depth)
      refuse("deeply nested groups");
    split_pattern result{.is = pattern_kind::choice};
    do
      result.parts.push_back(sequence(depth));
    while (take("|"));
    return result.parts.size() == 1 ? std::move(result.parts.front()) : result;
  }

  split_pattern sequence(std::size_t depth) {
    split_pattern result{.is = pattern_kind::sequence};
    folded_before_ = 0;
    while (!at_end() && !sees("|") && !sees(")"))
      result.parts.push_back(repeated(element(depth)));
    return result;
  }

  split_pattern element(std::size_t depth) {
    const auto before = std::exchange(folded_before_, 0);
    if (take("(?!") || take("(?="))
      return ahead(all_[at_ - 1] == '!', depth);
    if (take("(?i:"))
      return group(true, depth);
    if (take("(?:"))
      return group(ignores_case_, depth);
    if (sees("(?") || sees("(*"))
      refuse("a group of the kind " + std::string{all_.substr(at_, 3)});
    if (take("("))
      return group(ignores_case_, depth);
    if (take("["))
      return character(char_class(depth));
    if (take("."))
      return character(code_points{'\n', '\n'}.inverted());
    if (take("\\"))
      return escaped();
    if (syntax_ == pattern_syntax::rust && take("$"))
      return {.is = pattern_kind::ahead, .at_end = true};
    if (at_end() || std::string_view{"^$*+?{"}.find(all_[at_]) != std::string_view::npos)
      refuse("the sign " + std::string{all_.substr(at_, 1)} + " in this place");
    return literal(next(), before);
  }

  split_pattern character(code_points set) const {
    return {.is = pattern_kind::character, .set = std::move(set)};
  }

  split_pattern literal(char32_t x, char32_t before) {
    if (!ignores_case_ || x < 0x80) {
      if (!ignores_case_ || !is_ascii_letter(x))
        return character({x, x});
      if (is_ligature(before, x))
        refuse("letters without regard to case that have a ligature");
      folded_before_ = x;
      return character(any_case(x));
    }
    refuse("characters beyond ASCII without regard to case");
  }

  split_pattern group(bool ignores_case, std::size_t depth) {
    const auto before = std::exchange(ignores_case_, ignores_case);
    auto result = choice(depth + 1);
    ignores_case_ = before;
    folded_before_ = 0;
    if (!take(")"))
      refuse("a group that does not end");
    return result;
  }

  split_pattern ahead(bool is_negative, std::size_t depth) {
    const auto of = group(ignores_case_, depth);
    const bool is_one = of.is == pattern_kind::sequence && of.parts.size() == 1;
    const auto& only = is_one ? of.parts.front() : of;
    if (only.is != pattern_kind::character)
      refuse("a look ahead at more than one character");
    return {.is = pattern_kind::ahead,
            .set = is_negative ? only.set.inverted() : only.set,
            .at_end = is_negative};
  }

  split_pattern escaped() {
    if (const auto set = class_escape(false))
      return character(*set);
    if (syntax_ == pattern_syntax::rust && take("z"))
      return {.is = pattern_kind::ahead, .at_end = true};
    return literal(character_escape(), 0);
  }

  /// After a backslash; within brackets, or not.
  std::optional<code_points> class_escape(bool in_class) {
    const auto pick = [](const code_points& set, bool inverts) {
      return inverts ? set.inverted() : set;
    };
    const char sign = at_end() ? '\0' : all_[at_];
    const bool inverts = sign >= 'A' && sign <= 'Z';
    if (take("s") || take("S"))
      return pick(white_space_points(), inverts);
    if (take("d") || take("D"))
      return pick(of_category("Nd"), inverts);
    if (take("w") || take("W"))
      return pick(words(in_class), inverts);
    if (!take("p") && !take("P"))
      return std::nullopt;
    if (ignores_case_)
      refuse("a class of characters without regard to case");
    return pick(property(), inverts);
  }

  code_points words(bool in_class) const {
    if (syntax_ == pattern_syntax::rust)
      return word_points();
    const code_points joiners{0x200c, 0x200d};
    const auto letters = word_points() & joiners.inverted();
    const code_points numbers{{{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}}};
    return in_class ? letters : letters | numbers; // in brackets these are no part of words
  }

  code_points property() {
    std::string name;
    if (take("{")) {
      const auto end = all_.find('}', at_);
      if (end == std::string_view::npos)
        refuse("a property that does not end");
      name = all_.substr(at_, end - at_);
      at_ = end + 1;
    } else if (syntax_ == pattern_syntax::rust && !at_end()) {
      name = all_[at_++];
    }
    const bool inverts = name.starts_with('^');
    auto found = of_category(inverts ? name.substr(1) : name);
    if (found.empty())
      refuse("the property " + excerpt(name));
    return inverts ? found.inverted() : found;
  }

  char32_t character_escape() {
    const auto sign = next();
    constexpr std::array<std::pair<char32_t, char32_t>, 6> known{
        {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'f', '\f'}, {'v', '\v'}, {'a', '\a'}}};
    for (const auto& [name, value] : known)
      if (sign == name)
        return value;
    if (sign == 'x')
      return take("{") ? hexadecimal(1, 6, true) : hexadecimal(2, 2, false);
    if (sign == 'u' && !sees("{"))
      return hexadecimal(4, 4, false);
    if (sign >= 0x80 || is_ascii_letter(sign) || (sign >= '0' && sign <= '9'))
      refuse("the escape \\" + std::string{all_.substr(at_ - 1, 1)});
    return sign;
  }

  char32_t hexadecimal(std::size_t least, std::size_t most, bool has_brace) {
    char32_t value = 0;
    std::size_t digits = 0;
    for (; digits < most && !at_end(); ++digits, ++at_) {
      const auto place = std::string_view{"0123456789abcdef"}.find(
          static_cast<char>(all_[at_] >= 'A' && all_[at_] <= 'F' ? all_[at_] | 0x20 : all_[at_]));
      if (place == std::string_view::npos)
        break;
      value = value * 16 + static_cast<char32_t>(place);
    }
    if (digits < least || (has_brace && !take("}")) || value > code_points::greatest)
      refuse("a hexadecimal escape that is none");
    return value;
  }

  /// After the opening bracket.
  code_points char_class(std::size_t depth) {
    if (depth > most_group_depth)
      refuse("deeply nested classes");
    const bool inverts = take("^");
    code_points set;
    bool is_empty = true;
    while (!sees("]") || is_empty) {
      if (sees("&&") || sees("[:") || sees("--") || sees("~~") || (is_empty && sees("]")))
        refuse("a class that contains " + std::string{all_.substr(at_, 2)});
      set = set | class_item(depth);
      is_empty = false;
    }
    take("]");
    return inverts ? set.inverted() : set;
  }

  code_points class_item(std::size_t depth) {
    if (take("["))
      return char_class(depth + 1);
    const bool is_escape = take("\\");
    if (is_escape)
      if (auto set = class_escape(true)) {
        if (sees("-") && !sees("-]"))
          refuse("a range that begins with a class");
        return std::move(*set);
      }
    const auto first = is_escape ? character_escape() : next();
    if (!sees("-") || sees("-]"))
      return with_case(first, first);
    take("-");
    if (sees("["))
      refuse("a range that ends with a class");
    const bool ends_escaped = take("\\");
    if (ends_escaped && class_escape(true))
      refuse("a range that ends with a class");
    const auto last = ends_escaped ? character_escape() : next();
    if (last < first)
      refuse("a range without characters");
    return with_case(first, last);
  }

  code_points with_case(char32_t first, char32_t last) const {
    code_points set{first, last};
    if (!ignores_case_)
      return set;
    if (last >= 0x80)
      refuse("characters beyond ASCII without regard to case");
    for (auto x = first; x <= last; ++x)
      if (is_ascii_letter(x))
        set = set | any_case(x);
    return set;
  }

  split_pattern repeated(split_pattern of) {
    const bool is_counted = sees("{");
    std::size_t min = 0;
    std::size_t max = split_pattern::no_limit;
    if (take("?"))
      max = 1;
    else if (take("+"))
      min = 1;
    else if (is_counted)
      count(min, max);
    else if (!take("*"))
      return of;
    if (of.is == pattern_kind::ahead)
      refuse("a repeated look ahead");
    if (max == split_pattern::no_limit && may_be_empty(of)) // engines end such a loop in other ways
      refuse("a repetition without end of what may be empty");
    split_pattern result{
        .is = pattern_kind::repeat, .parts = {std::move(of)}, .min = min, .max = max};
    if (is_counted && syntax_ == pattern_syntax::oniguruma) {
      if (sees("?"))
        refuse("a question mark after a count");
      if (take("+")) // not possessive in this syntax
        result = {.is = pattern_kind::repeat, .parts = {std::move(result)}, .min = 1};
    } else if (take("?")) {
      result.is_lazy = true;
    } else if (take("+")) {
      result.is_possessive = true;
    }
    if (sees("?") || sees("*") || sees("+") || sees("{"))
      refuse("a repetition of a repetition");
    folded_before_ = 0;
    return result;
  }

  void count(std::size_t& min, std::size_t& max) {
    take("{");
    const auto first = number();
    const bool is_range = take(",");
    const auto second = is_range ? number() : first;
    if (!first || !take("}"))
      refuse("a brace that begins no count");
    min = *first;
    max = second.value_or(split_pattern::no_limit);
    if (min > most_repeats || (second && (*second > most_repeats || *second < min || max == 0)))
      refuse("a count that is too large, or none");
  }

  std::optional<std::size_t> number() {
    std::optional<std::size_t> value;
    while (!at_end() && all_[at_] >= '0' && all_[at_] <= '9' && value.value_or(0) <= most_repeats)
      value = value.value_or(0) * 10 + static_cast<std::size_t>(all_[at_++] - '0');
    return value;
  }

  std::string_view all_;
  pattern_syntax syntax_;
  std::size_t at_ = 0;
  bool ignores_case_ = false;
  /// The letter before, if it was one without regard to case.
  char32_t folded_before_ = 0;
};

/// What may come after a place in a pattern.
struct continuation {
  code_points first;
  bool never_fails = false;
};

/// Checks every possessive repetition: a plain one means the same if nothing after it can fail, or
/// if what it would give back cannot begin what follows.
class possessive_check {
public:
  /// Returns what this part and all after it begin with.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern, which has a limit
  continuation begins(const split_pattern& x, const continuation& after) {
    if (++looks_ > most_looks)
      throw unsupported_tokenizer("a pattern with deeply nested repetitions");
    switch (x.is) {
    case pattern_kind::character:
    case pattern_kind::ahead:
      return {x.set, false};
    case pattern_kind::sequence: {
      auto rest = after;
      for (auto part = x.parts.rbegin(); part != x.parts.rend(); ++part)
        rest = begins(*part, rest);
      return rest;
    }
    case pattern_kind::choice: {
      continuation any;
      for (const auto& part : x.parts) {
        const auto one = begins(part, after);
        any = {any.first | one.first, any.never_fails || one.never_fails};
      }
      return any;
    }
    case pattern_kind::repeat:
      break;
    }
    const auto& body = x.parts.front();
    const auto once = begins(body, after);
    const auto again = begins(body, {once.first | after.first, false});
    if (x.is_possessive && !after.never_fails
        && (body.is != pattern_kind::character || !(body.set & after.first).empty()))
      throw unsupported_tokenizer("a pattern with a possessive repetition that matters");
    return {x.min == 0 ? again.first | after.first : again.first, x.min == 0 && after.never_fails};
  }

private:
  /// Each repetition is looked at twice, and so 2^n times in n others.
  static constexpr std::size_t most_looks = 10'000;
  std::size_t looks_ = 0;
};

} // namespace

split_pattern parse_split_pattern(std::string_view text, pattern_syntax syntax) {
  auto result = pattern_reader{text, syntax}.read();
  possessive_check{}.begins(result, {{}, true});
  return result;
}

split_pattern pattern_of_literal(std::string_view text) {
  split_pattern result{.is = pattern_kind::sequence};
  while (!text.empty()) {
    const auto x = decode_character(text.data());
    result.parts.push_back({.is = pattern_kind::character, .set = {x.code_point, x.code_point}});
    text.remove_prefix(x.size);
  }
  return result;
}

split_pattern pattern_of_set(code_points set, bool many) {
  split_pattern one{.is = pattern_kind::character, .set = std::move(set)};
  if (!many)
    return one;
  return {.is = pattern_kind::repeat, .parts = {std::move(one)}, .min = 1};
}

} // namespace leat
