#include "runtime/pipeline/functions/name_pattern.hpp"
#include "tests/support/test.hpp"

#include <fnmatch.h>

namespace leat::name_pattern_test {

TEST_CASE("a pattern of many stars takes no longer than pattern times text") {
  std::string pattern;
  for (int i = 0; i < 50; ++i)
    pattern += "a*";
  CHECK_FALSE(name_matches(pattern + "b", std::string(20'000, 'a')));
}

TEST_CASE("random patterns match as fnmatch says in the C locale") {
  constexpr std::string_view parts[] = {
      "a",    "b",      "x",    "/",     "*",    "?",    "[",     "!",         "]",          "[a]",
      "[!a]", "[a-b/]", "[]a]", "[!]a]", "[a-]", "[+-]", "[b-a]", "[a-c0-3_]", "[\xf0-\xff]"};
  std::size_t matching = 0;
  for (unsigned seed = 0; seed < 100'000; ++seed) {
    std::mt19937 random{seed};
    std::string pattern;
    for (auto n = random() % 7; n > 0; --n)
      pattern += parts[random() % std::size(parts)];
    std::string text;
    for (auto n = random() % 6; n > 0; --n)
      text += "ab/]-!_[x\xfe"[random() % 10];
    CAPTURE(seed, pattern, text);
    const bool expected = ::fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
    matching += expected;
    REQUIRE(name_matches(pattern, text) == expected);
  }
  CHECK(matching > 3000);
}

} // namespace leat::name_pattern_test
