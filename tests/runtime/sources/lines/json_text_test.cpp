#include "runtime/sources/lines/json_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_text.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::json_text_test {
namespace {

/// Also checks that nothing is written beyond the size of the input.
std::optional<std::string> unescaped(std::string_view x) {
  constexpr std::size_t guard = 64;
  std::string to(x.size() + guard, '#');
  const auto size = unescape_json_text(x, to.data());
  REQUIRE(to.substr(x.size()) == std::string(guard, '#'));
  if (!size)
    return {};
  REQUIRE(*size <= x.size());
  return to.substr(0, *size);
}

} // namespace

TEST_CASE("an escape in a text is found wherever it stands, however long the text is") {
  for (std::size_t before = 0; before < 50; ++before)
    for (std::size_t after = 0; after < 50; ++after) {
      const std::string a(before, 'a');
      const std::string b(after, 'b');
      CHECK(unescaped(a + b) == a + b);
      CHECK(unescaped(a + "\\n" + b) == a + "\n" + b);
      CHECK(unescaped(a + "\\u20aC" + b) == a + "\u20ac" + b);
      CHECK(unescaped(a + "\\n\\\\\\t" + b) == a + "\n\\\t" + b);
      CHECK(unescaped(a + "\\" + b).has_value() == (after > 0)); // "\b"
      CHECK_FALSE(unescaped(a + "\\u12g4" + b));
      CHECK_FALSE(unescaped(a + "\\u12"));
    }
}

TEST_CASE("texts of random escapes mean what their pieces mean") {
  using piece = std::pair<std::string_view, std::string_view>;
  std::vector pieces(
      {piece{"\\\"", "\""}, piece{"\\\\", "\\"}, piece{"\\/", "/"}, piece{"\\b", "\b"},
       piece{"\\f", "\f"}, piece{"\\n", "\n"}, piece{"\\r", "\r"}, piece{"\\t", "\t"},
       piece{"\\u0041", "A"}, piece{"\\u007f", "\x7f"}, piece{"\\u0080", "\u0080"},
       piece{"\\u07FF", "\u07ff"}, piece{"\\u0800", "\u0800"}, piece{"\\ud7ff", "\ud7ff"},
       piece{"\\uE000", "\ue000"}, piece{"\\uffff", "\uffff"},
       piece{"\\ud800\\udc00", "\U00010000"}, piece{"\\uDBFF\\uDFFF", "\U0010ffff"}});
  for (const auto* plain : {"\xc3\xa9", "some words", "a"})
    pieces.emplace_back(plain, plain);
  test::seeded_random random;
  for (int i = 0; i < 5000; ++i) {
    std::string escaped;
    std::string means;
    for (auto n = random() % 40; n > 0; --n) {
      const auto& x = pieces[random() % pieces.size()];
      escaped += x.first;
      means += x.second;
    }
    CHECK(unescaped(escaped) == means);
  }
}

TEST_CASE("what is no escape is refused") {
  for (const auto* x : {"\\", "\\x", "\\U0041", "\\u", "\\u004", "\\u004g", "\\u 041", "\\u+041",
                        "\\udc00", "\\udfff", "\\ud800", "\\ud800x", "\\ud800\\", "\\ud800\\n",
                        "\\ud800\\u", "\\ud800\\u0041", "\\ud800\\ud800", "\\ud800\\ue000"})
    CHECK_FALSE(unescaped(x));
}

} // namespace leat::json_text_test
