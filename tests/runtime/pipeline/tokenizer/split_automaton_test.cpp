#include "runtime/pipeline/tokenizer/rank_file.hpp"
#include "runtime/pipeline/tokenizer/split_automaton.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/test.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace leat::split_automaton_test {
namespace {

using kind = split_pattern::kind;
using then = std::function<const char*(const char*)>;

/// Where a match ends by trying every way in order, as a backtracking engine does; null for none.
const char* backtrack(const split_pattern& x, const char* at, const char* end, const then& next) {
  switch (x.is) {
  case kind::character:
    if (at == end || !x.set.has(decode_character(at).code_point))
      return nullptr;
    return next(at + decode_character(at).size);
  case kind::ahead:
    return (at == end ? x.at_end : x.set.has(decode_character(at).code_point)) ? next(at) : nullptr;
  case kind::choice:
    for (const auto& part : x.parts)
      if (const auto* found = backtrack(part, at, end, next))
        return found;
    return nullptr;
  case kind::sequence: {
    std::function<const char*(std::size_t, const char*)> from = [&](std::size_t i, const char* p) {
      return i == x.parts.size()
                 ? next(p)
                 : backtrack(x.parts[i], p, end, [&, i](const char* q) { return from(i + 1, q); });
    };
    return from(0, at);
  }
  case kind::repeat:
    break;
  }
  std::function<const char*(std::size_t, const char*)> more = [&](std::size_t n, const char* p) {
    const auto again = [&, n]() -> const char* {
      if (n >= x.max)
        return nullptr;
      return backtrack(x.parts.front(), p, end,
                       [&, n](const char* q) { return q == p ? nullptr : more(n + 1, q); });
    };
    const auto done = [&]() -> const char* { return n < x.min ? nullptr : next(p); };
    const auto* found = x.is_lazy ? done() : again();
    return found ? found : x.is_lazy ? again() : done();
  };
  return more(0, at);
}

std::size_t matched(const std::string& pattern, const std::string& text) {
  const split_automaton x{parse_split_pattern(pattern, pattern_syntax::rust)};
  return x.match(text.data(), text.data() + text.size());
}

TEST_CASE("a match is that of the first way that the pattern prefers") {
  CHECK(matched("a|ab", "ab") == 1);
  CHECK(matched("ab|a", "ab") == 2);
  CHECK(matched("a+?b?", "aab") == 1);
  CHECK(matched("a{2,3}", "aaaa") == 3);
  CHECK(matched("\\s+(?!\\S)", "   x") == 2);
  CHECK(matched("\\s+(?!\\S)", "   ") == 3);
  CHECK(matched("\\s+$|\\s", "  x") == 1);
  CHECK(matched("(?i:'s)", "'\u017f") == 3);
  CHECK(matched("[^a-c\\p{Lu}]", "\u00c4") == 0);
  CHECK(matched("\\p{N}+", "1\u00b2\u2167x") == 6);
}

TEST_CASE("to the package, some numbers are parts of words only outside of brackets") {
  const std::string half = "\u00bd";
  const auto found = [&](const char* pattern) {
    const split_automaton x{parse_split_pattern(pattern, pattern_syntax::oniguruma)};
    return x.match(half.data(), half.data() + half.size());
  };
  CHECK(found("\\w") == 2);
  CHECK(found("\\W") == 0);
  CHECK(found("[\\w]") == 0);
  CHECK(found("[^\\w\\s]+") == 2);
  CHECK(found("[\\W]") == 2);
}

TEST_CASE("known patterns match as a backtracking engine does") {
  test::seeded_random random;
  constexpr std::array<std::string_view, 24> parts{
      "'s", "'LL", "'ſ", " ",  "  ", "\n", "\r\n", "\t",     "\u00a0", "\u3000", "a",  "Z",
      "é",  "ǅ",   "ʰ",  "中", "٣",  "²",  "12",   "\u0301", "😀",      "!",      "//", "_"};
  for (const auto* name : {"gpt2", "cl100k_base", "llama3", "o200k_base", "qwen", "qwen35"}) {
    INFO(name);
    const auto pattern = parse_split_pattern(pattern_of_encoding(name), pattern_syntax::rust);
    const split_automaton x{pattern};
    for (int i = 0; i < 400; ++i) {
      std::string text;
      for (auto n = (random() % (12)) + 1; n > 0; --n)
        text += parts[(random() % (parts.size()))];
      const auto* const end = text.data() + text.size();
      for (const auto* at = text.data(); at != end; at += decode_character(at).size) {
        const auto* found = backtrack(pattern, at, end, [](const char* p) { return p; });
        INFO(text << " from byte " << at - text.data());
        REQUIRE(x.match(at, end) == static_cast<std::size_t>((found ? found : at) - at));
      }
    }
  }
}

TEST_CASE("patterns that no automaton can follow are refused by name") {
  const auto refused = [](const std::string& pattern) {
    try {
      const split_automaton x{parse_split_pattern(pattern, pattern_syntax::oniguruma)};
    } catch (const unsupported_tokenizer& what) {
      return std::string{what.what()};
    }
    return std::string{};
  };
  for (const auto* pattern :
       {"(?<=a)b", "(a)\\1", "a*", "a++a", "^a", "[[:alpha:]]", "(?!ab)c", "(?i:st)", "\\p{Han}",
        "a{2", "(a", "a)", "[a", "[b-a]", "(?i:é)", "\\b", "(a??|b)*c", "(?:(?=a)b?)+c"})
    CHECK(refused(pattern).find("pattern") != std::string::npos);
  CHECK(refused("[^\\r\\n\\p{L}]?+\\p{L}++").empty());
  CHECK(refused(std::string(200, '(') + "a" + std::string(200, ')')).find("nested")
        != std::string::npos);
}

TEST_CASE("patterns that would take forever to read are refused") {
  const auto nested = [](std::size_t depth, const std::string& of, const std::string& repeat) {
    std::string pattern = std::string(depth, '(') + of;
    for (std::size_t i = 0; i < depth; ++i)
      pattern += ')' + repeat;
    return pattern + "b";
  };
  for (const auto& pattern : {nested(45, "a", "+"), nested(45, "a", "*"), nested(6, "", "{1000}")})
    CHECK_THROWS_AS(split_automaton{parse_split_pattern(pattern, pattern_syntax::rust)},
                    unsupported_tokenizer);
  CHECK(matched(nested(3, "a", "+"), "aab") == 3);
}

} // namespace
} // namespace leat::split_automaton_test
