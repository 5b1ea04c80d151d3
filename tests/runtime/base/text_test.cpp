#include "runtime/base/text.hpp"
#include "tests/support/test.hpp"

namespace leat::text_test {
namespace {

TEST_CASE("json_escaped: text that is not UTF-8 is replaced byte by byte") {
  const std::string mark = "\xef\xbf\xbd";
  CHECK(json_escaped("größe ☃ \xf0\x9f\x98\x80") == "größe ☃ \xf0\x9f\x98\x80");
  CHECK(json_escaped("a\\b\"c\x01\x1f") == "a\\\\b\\\"c\\u0001\\u001f");
  CHECK(json_escaped("\b\f\n\r\t\x7f") == "\\b\\f\\n\\r\\t\x7f");
  CHECK(json_escaped("\x80x") == mark + "x");                           // not a lead byte
  CHECK(json_escaped("\xc3") == mark);                                  // cut short
  CHECK(json_escaped("\xc3x") == mark + "x");                           // not a second byte
  CHECK(json_escaped("\xc0\x80") == mark + mark);                       // longer than needed
  CHECK(json_escaped("\xed\xa0\x80") == mark + mark + mark);            // half of a surrogate pair
  CHECK(json_escaped("\xf4\x90\x80\x80") == mark + mark + mark + mark); // above U+10FFFF
  CHECK(json_escaped("\xff") == mark);
}

} // namespace
} // namespace leat::text_test
