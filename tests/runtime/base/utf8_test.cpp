#include "runtime/base/utf8.hpp"
#include "tests/support/test.hpp"

namespace leat::utf8_test {

TEST_CASE("utf8: valid names stay as they are") {
  for (const std::string name :
       {"", "0001.jpg", "a b\\c", "caf\xC3\xA9", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "tab\tline\n"})
    REQUIRE(as_utf8(name) == name);
}

TEST_CASE("utf8: bytes that are none are written as digits") {
  REQUIRE(as_utf8("caf\xE9") == "caf\\xE9");
  REQUIRE(as_utf8("\xE9\x31")
          == "\\xE9"
             "1");
  REQUIRE(as_utf8("\xC0\xAF") == "\\xC0\\xAF");                   // overlong
  REQUIRE(as_utf8("\xE0\x9F\xBF") == "\\xE0\\x9F\\xBF");          // overlong
  REQUIRE(as_utf8("\xED\xA0\x80") == "\\xED\\xA0\\x80");          // a surrogate
  REQUIRE(as_utf8("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80"); // above U+10FFFF
  REQUIRE(as_utf8("\x80") == "\\x80");
  REQUIRE(as_utf8("\xE2\x82") == "\\xE2\\x82"); // ends too early
  REQUIRE(as_utf8("\xFF\xE2\x82\xAC") == "\\xFF\xE2\x82\xAC");
}

TEST_CASE("utf8: different names stay different") {
  REQUIRE(as_utf8("caf\\xE9") == "caf\\x5CxE9");
  REQUIRE(as_utf8("caf\\xE9") != as_utf8("caf\xE9"));
}

} // namespace leat::utf8_test
