#include "runtime/pipeline/functions/name_pattern.hpp"
#include "tests/support/catch.hpp"

#include <fnmatch.h>

#include <random>
#include <string>

namespace leat::name_pattern_test {

TEST_CASE("a pattern stands for a whole name") {
  CHECK(name_matches("a", "a"));
  CHECK_FALSE(name_matches("a", "ab"));
  CHECK_FALSE(name_matches("ab", "a"));
  CHECK(name_matches("", ""));
  CHECK_FALSE(name_matches("", "a"));
  CHECK(name_matches("*", ""));
  CHECK(name_matches("*", "a/b"));
  CHECK(name_matches("train/*.jpg", "train/cat/7.jpg"));
  CHECK_FALSE(name_matches("train/*.jpg", "train/cat/7.jpeg"));
  CHECK(name_matches("*a*b*", "xxaxxbxx"));
  CHECK_FALSE(name_matches("*a*b*", "xxbxxaxx"));
  CHECK(name_matches("a?c", "a/c"));
  CHECK_FALSE(name_matches("a?", "a"));
}

TEST_CASE("brackets stand for one byte of a set") {
  CHECK(name_matches("[abc]x", "bx"));
  CHECK_FALSE(name_matches("[abc]x", "dx"));
  CHECK(name_matches("[a-c0-3_]", "2"));
  CHECK_FALSE(name_matches("[a-c0-3]", "-"));
  CHECK(name_matches("[!a-c]", "d"));
  CHECK_FALSE(name_matches("[!a-c]", "b"));
  CHECK_FALSE(name_matches("[!a]", ""));
  CHECK(name_matches("[]a]", "]"));
  CHECK(name_matches("[!]a]", "b"));
  CHECK_FALSE(name_matches("[!]a]", "]"));
  CHECK(name_matches("[a-]", "-"));
  CHECK_FALSE(name_matches("[+-]", ","));
  CHECK(name_matches("[abc", "[abc"));
  CHECK(name_matches("[!", "[!"));
  CHECK(name_matches("x[\xf0-\xff]", "x\xfe"));
  CHECK_FALSE(name_matches("[c-a]", "b"));
}

TEST_CASE("a pattern of many stars takes no longer than pattern times text") {
  std::string pattern;
  for (int i = 0; i < 50; ++i)
    pattern += "a*";
  CHECK_FALSE(name_matches(pattern + "b", std::string(20'000, 'a')));
}

TEST_CASE("random patterns match as fnmatch says in the C locale") {
  constexpr std::string_view parts[] = {"a", "b", "/", "*", "?", "[a]", "[!a]", "[a-b/]", "]", "-"};
  std::size_t matching = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    std::mt19937 random{seed};
    std::string pattern;
    for (auto n = random() % 7; n > 0; --n)
      pattern += parts[random() % std::size(parts)];
    std::string text;
    for (auto n = random() % 6; n > 0; --n)
      text += "ab/]-"[random() % 5];
    CAPTURE(seed, pattern, text);
    const bool expected = ::fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
    matching += expected;
    REQUIRE(name_matches(pattern, text) == expected);
  }
  CHECK(matching > 1000);
}

} // namespace leat::name_pattern_test
