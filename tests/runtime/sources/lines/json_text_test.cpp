#include "runtime/sources/lines/json_text.hpp"
#include "tests/support/catch.hpp"

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>

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

struct piece {
  std::string_view escaped;
  std::string_view means;
};

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
  static constexpr piece pieces[] = {
      {"\\\"", "\""},
      {"\\\\", "\\"},
      {"\\/", "/"},
      {"\\b", "\b"},
      {"\\f", "\f"},
      {"\\n", "\n"},
      {"\\r", "\r"},
      {"\\t", "\t"},
      {"\\u0041", "A"},
      {"\\u007f", "\x7f"},
      {"\\u0080", "\u0080"},
      {"\\u07FF", "\u07ff"},
      {"\\u0800", "\u0800"},
      {"\\ud7ff", "\ud7ff"},
      {"\\uE000", "\ue000"},
      {"\\uffff", "\uffff"},
      {"\\ud800\\udc00", "\U00010000"},
      {"\\uDBFF\\uDFFF", "\U0010ffff"},
      {"\xc3\xa9", "\xc3\xa9"},
      {"some words", "some words"},
      {"a", "a"},
  };
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  for (int i = 0; i < 5000; ++i) {
    std::string escaped;
    std::string means;
    for (auto n = random() % 40; n > 0; --n) {
      const auto& x = pieces[random() % std::size(pieces)];
      escaped += x.escaped;
      means += x.means;
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
