#include "runtime/sources/lines/json_fields.hpp"
#include "tests/support/catch.hpp"

#include <leat/bad_sample.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat::json_fields_test {
namespace {

/// The line's bytes live in the sample, as where a worker reads them. What lies behind it looks
/// like more of it.
void set_from(std::string_view line, sample& into) {
  const auto bytes = into.scratch(line.size() + json_slack);
  std::memset(bytes.data() + line.size(), '}', json_slack);
  bytes[line.size()] = std::byte{'\n'};
  std::memcpy(bytes.data(), line.data(), line.size());
  set_json_fields(bytes.first(line.size()), into);
}

std::optional<cause> cause_of(std::string_view line) {
  sample s;
  try {
    set_from(line, s);
  } catch (const bad_sample& x) {
    return x.why();
  }
  return {};
}

template <class T>
std::vector<T> elements(const sample& s, std::string_view name) {
  const auto view = s.view<T, 1>(name);
  std::vector<T> values;
  for (std::size_t i = 0; i < view.extent(0); ++i)
    values.push_back(view[i]);
  return values;
}

} // namespace

TEST_CASE("members of a JSON object become fields of their types") {
  sample s;
  set_from(R"({"text": "gr\u00fc\n", "empty": "", "int": -7, "float": 2.5, "whole": 3.0,
               "yes": true, "no": false})",
           s);
  CHECK(s.text("text") == "grü\n");
  CHECK(s.text("empty").empty());
  CHECK(s.get<std::int64_t>("int") == -7);
  CHECK(s.get<double>("float") == 2.5);
  CHECK(s.get<double>("whole") == 3);
  CHECK(s.get<std::uint8_t>("yes") == 1);
  CHECK(s.get<std::uint8_t>("no") == 0);
  CHECK(s.fields().size() == 7);
}

TEST_CASE("integers that do not fit into 64 bits are numbers like others") {
  sample s;
  set_from(R"({"most": 9223372036854775807, "least": -9223372036854775808,
               "more": 9223372036854775808, "much": 100000000000000000000})",
           s);
  CHECK(s.get<std::int64_t>("most") == std::numeric_limits<std::int64_t>::max());
  CHECK(s.get<std::int64_t>("least") == std::numeric_limits<std::int64_t>::min());
  CHECK(s.get<double>("more") == 9223372036854775808.0);
  CHECK(s.get<double>("much") == 1e20);
}

TEST_CASE("arrays of numbers become tensors of rank 1") {
  sample s;
  set_from(R"({"i": [1, -2, 3], "f": [1, 2.5], "none": [], "big": [1, 9223372036854775808]})", s);
  CHECK(elements<std::int64_t>(s, "i") == std::vector<std::int64_t>{1, -2, 3});
  CHECK(elements<double>(s, "f") == std::vector<double>{1, 2.5});
  CHECK(elements<std::int64_t>(s, "none").empty());
  CHECK(elements<double>(s, "big") == std::vector<double>{1, 9223372036854775808.0});
}

TEST_CASE("everything else becomes its text, as it stands") {
  sample s;
  set_from(R"({"null": null , "object": { "b": [1, "x"], "a": "\u00fc" }  , "mixed":[1, true],
               "nested": [[1], [ 2 ] ], "texts": ["a", "b\n"], "numbers": [1.50, {}, 1e2]} )",
           s);
  CHECK(s.text("null") == "null");
  CHECK(s.text("object") == R"({ "b": [1, "x"], "a": "\u00fc" })");
  CHECK(s.text("mixed") == "[1, true]");
  CHECK(s.text("nested") == "[[1], [ 2 ] ]");
  CHECK(s.text("texts") == R"(["a", "b\n"])");
  CHECK(s.text("numbers") == "[1.50, {}, 1e2]");
}

TEST_CASE("escapes in texts and in names are what they stand for") {
  sample s;
  set_from(
      R"({"a\u0062\"": "\"\\\/\b\f\n\r\t|\u0041\u00e9\u20ac\ud83d\ude00\u0000", "plain": "gr\u00FC"})",
      s);
  CHECK(s.text("ab\"") == std::string_view{"\"\\/\b\f\n\r\t|Aé€😀\0", 20});
  CHECK(s.text("plain") == "grü");
}

TEST_CASE("a byte order mark before the object counts as nothing") {
  sample s;
  set_from("\xEF\xBB\xBF{\"a\": 1}", s);
  CHECK(s.get<std::int64_t>("a") == 1);
}

TEST_CASE("numbers are the nearest of float64") {
  sample s;
  set_from(R"({"a": [0.1, -0.0, 2.5e-5, 5e-324, 1.7976931348623157e308, 9007199254740993.0, 1E2,
               18446744073709551615, 1e-400, -1e-400, 0e999999999999999999999, 0.001e310]})",
           s);
  CHECK(elements<double>(s, "a")
        == std::vector<double>{0.1, -0.0, 2.5e-5, 5e-324, 1.7976931348623157e308, 9007199254740992,
                               100, 18446744073709551616.0, 0, -0.0, 0, 1e307});
  CHECK(std::signbit(elements<double>(s, "a")[1]));
  CHECK(std::signbit(elements<double>(s, "a")[9]));
}

TEST_CASE("of members of one name the last counts") {
  sample s;
  set_from(R"({"a": 1, "a": "x"})", s);
  CHECK(s.text("a") == "x");
  CHECK(s.fields().size() == 1);
}

TEST_CASE("lines other than a JSON object are bad samples") {
  for (const auto* line : {"",
                           " ",
                           "{",
                           "{}{}",
                           "{} x",
                           "[1]",
                           "[{}]",
                           "1",
                           "null",
                           "\"a\"",
                           "{\"a\": nan}",
                           "{\"a\": \"\xff\"}",
                           "{\"a\": [\"\xff\"]}",
                           "{\"a\": 1e999}",
                           "{\"a\": [0.001e312]}",
                           "{'a': 1}",
                           "{\"a\": 01}",
                           "{\"a\": 1.}",
                           "{\"a\": .5}",
                           "{\"a\": +1}",
                           "{\"a\": -}",
                           "{\"a\": 1e}",
                           "{\"a\": [[1 2]]}",
                           "{\"a\": {\"b\": 01}}",
                           "{\"a\": [nul]}",
                           "{\"a\": tru}",
                           "{\"a\": [[truex]]}",
                           "{\"a\": nulls}",
                           "{\"a\": \"\\x\"}",
                           "{\"a\": [\"\\x\", 1]}",
                           "{\"a\": \"\\ud800\"}",
                           "{\"a\": [\"\\udc00\"]}",
                           "{\"a\": \"\\ud800\\u0041\"}",
                           "{\"\\ud800\": 1}",
                           "{\"a\": {\"\\x\": 1}}",
                           "{\"a\": \"\\u12g4\"}",
                           "{\"a\": \"\t\"}",
                           "{\"a\": 1,}",
                           "{\"a\": [1,]}",
                           "{\"a\": [,1]}",
                           "{\"a\": }",
                           "{\"a\"}",
                           "{\"a\" 1}",
                           "{\"a\": 1 \"b\": 2}",
                           "{\"a\": 1]",
                           "{\"a\": [1}",
                           "{\"a\": \"x}",
                           "{1: 2}",
                           "{\"a\": {\"b\" 1}}",
                           "{\"a\": \"b\": 1}",
                           "{\"a\":\":a\":2,\"a\":1}}",
                           "{\"a\": 1: 2}",
                           "{\"a\": [\"b\": 1]}",
                           "{\"a\": [[]}"}) {
    CAPTURE(line);
    CHECK(cause_of(line) == cause::corrupt);
  }
  CHECK(!cause_of("{}"));
  CHECK(!cause_of(" {} \r"));
}

TEST_CASE("what is wrong with a line is said without the library's name for it") {
  sample s;
  try {
    set_from("{", s);
    FAIL("not refused");
  } catch (const bad_sample& x) {
    CHECK(std::string{x.what()}.find("[json") == std::string::npos);
    CHECK(std::string{x.what()}.find("parse error at line 1, column 2") != std::string::npos);
  }
}

TEST_CASE("nesting is limited") {
  auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  CHECK(!cause_of(nested(max_json_depth)));
  CHECK(cause_of(nested(max_json_depth + 1)) == cause::too_large);
  CHECK(cause_of(nested(max_json_depth + 1) + "}") == cause::too_large);
  CHECK(!cause_of("{\"a\": [1, " + std::string(max_json_depth - 2, '[')
                  + std::string(max_json_depth - 2, ']') + "]}"));
  CHECK(cause_of("{\"a\": [1, " + std::string(max_json_depth - 1, '[')
                 + std::string(max_json_depth - 1, ']') + "]}")
        == cause::too_large);
  CHECK(cause_of(std::string(10'000'000, '[')) == cause::too_large);
  CHECK(!cause_of("{\"a\": \"\\\"" + std::string(1000, '[') + "\"}"));
}

} // namespace leat::json_fields_test
