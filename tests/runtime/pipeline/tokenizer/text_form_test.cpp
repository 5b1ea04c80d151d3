#include "runtime/pipeline/tokenizer/code_points.hpp"
#include "runtime/pipeline/tokenizer/text_form.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/test.hpp"

#include <string>
#include <vector>

namespace leat::text_form_test {
namespace {

std::string in_form(const std::string& text, bool is_composed, bool is_compatible) {
  std::string to;
  return std::string{text_form{is_composed, is_compatible}.apply(text, to)};
}
std::string nfc(const std::string& text) {
  return in_form(text, true, false);
}
std::string nfd(const std::string& text) {
  return in_form(text, false, false);
}
std::string nfkc(const std::string& text) {
  return in_form(text, true, true);
}
std::string small(const std::string& text) {
  std::string to;
  return std::string{with_small_letters(text, to)};
}

TEST_CASE("characters fall apart and join as their form says") {
  CHECK(nfc("") == "");
  CHECK(nfc("plain, as it stands") == "plain, as it stands");
  CHECK(nfc("e\u0301") == "\u00e9");
  CHECK(nfd("x\u00e9y") == "xe\u0301y");
  CHECK(nfc("e\u0302\u0323") == "\u1ec7");
  CHECK(nfc("\u212b") == "\u00c5");
  CHECK(nfc("\u0958") == "\u0915\u093c"); // does not join again
  CHECK(nfc("\u1100\u1161\u11a8") == "\uac01");
  CHECK(nfc("\uac00\u11a7") == "\uac00\u11a7");
  CHECK(nfd("\uac01") == "\u1100\u1161\u11a8");
  CHECK(nfc("\ufb01") == "\ufb01");
  CHECK(nfkc("\ufb01") == "fi");
  CHECK(nfkc("\u1e9b\u0323") == "\u1e69");
  CHECK(nfc("\u1e9b\u0323") == "\u1e9b\u0323");
}

TEST_CASE("marks come into the order of their classes, and equal ones stay in theirs") {
  CHECK(nfc("a\u0315\u0327") == "a\u0327\u0315");
  CHECK(nfd("q\u0301\u0300\u0323") == "q\u0323\u0301\u0300");
  CHECK(nfc("\u0301\u0323") == "\u0323\u0301"); // without a letter
}

TEST_CASE("characters that came after Unicode 9 stay as they are") {
  CHECK(nfkc("\u32ff") == "\u32ff");
  CHECK(nfd("\U00011938") == "\U00011938");
  CHECK(nfc("a\u0315\u0897") == "a\u0315\u0897");
}

TEST_CASE("a text that is normal stays so, whatever was done to it before") {
  test::seeded_random random;
  const std::vector<char32_t> some{0x41,   0xc5,  0x3b1,  0x1f00, 0x1100, 0xac00, 0x304b, 0x915,
                                   0x958,  0x9c7, 0xfb01, 0x300,  0x301,  0x323,  0x327,  0x345,
                                   0x3099, 0x93c, 0x94d,  0xe38,  0xf71,  0xf72,  0x1161, 0x11a8};
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (auto n = random() % 20; n > 0; --n)
      append_utf8(text, some[random() % some.size()]);
    const auto composed = nfc(text);
    INFO(text);
    REQUIRE(nfc(composed) == composed);
    REQUIRE(nfc(nfd(text)) == composed);
    REQUIRE(nfd(composed) == nfd(text));
    REQUIRE(nfkc(composed) == nfkc(nfd(text)));
  }
}

TEST_CASE("as many marks in a row as anyone likes are put into an order") {
  std::string text = "a";
  for (int i = 0; i < 200'000; ++i)
    text += i % 2 == 0 ? "\u0315" : "\u0327";
  const auto found = nfc(text);
  CHECK(found.size() == text.size());
  CHECK(found.substr(0, 3) == "a\u0327");
  CHECK(found.ends_with("\u0315"));
}

TEST_CASE("letters become small, one by one") {
  CHECK(small("AbZ [") == "abz [");
  CHECK(small("\u00c9\u0394\u0410") == "\u00e9\u03b4\u0430");
  CHECK(small("\u03a3\u03a3") == "\u03c3\u03c3"); // no other one at the end of a word
  CHECK(small("\u0130") == "i\u0307");
  CHECK(small("\u0100\u0101\u0102") == "\u0101\u0101\u0103");
}

} // namespace
} // namespace leat::text_form_test
