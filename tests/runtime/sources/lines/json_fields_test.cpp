#include "runtime/sources/lines/json_fields.hpp"
#include "tests/support/catch.hpp"

#include <leat/bad_sample.hpp>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace leat;

namespace {

void set_from(std::string_view line, sample& into) {
  set_json_fields(std::as_bytes(std::span{line.data(), line.size()}), into);
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

TEST_CASE("numbers in JSON text have the fewest digits") {
  sample s;
  set_from(R"({"a": [0.1, 1.50, -0.0, -0, 3.0, 0.0001, 0.00001, 1e14, 1e15, 123456789012345.6,
               1234567890123456.5, 2.5e-5, 5e-324, 1.7976931348623157e308, 9007199254740993.0,
               18446744073709551615, 18446744073709551616, 9.5367431640625e-7, {}, [], null]})",
           s);
  CHECK(s.text("a")
        == "[0.1,1.5,-0.0,0,3.0,0.0001,1e-05,100000000000000.0,1e+15,123456789012345.6,"
           "1.2345678901234565e+15,2.5e-05,5e-324,1.7976931348623157e+308,9.007199254740992e+15,"
           "18446744073709551615,1.8446744073709552e+19,9.5367431640625e-07,{},[],null]");
}

TEST_CASE("everything else becomes its JSON text") {
  sample s;
  set_from(R"({"null": null, "object": { "b": [1, "x"], "a": "ü" }, "mixed": [1, true],
               "nested": [[1], [2]], "texts": ["a", "b"]})",
           s);
  CHECK(s.text("null") == "null");
  CHECK(s.text("object") == R"({"a":"ü","b":[1,"x"]})");
  CHECK(s.text("mixed") == "[1,true]");
  CHECK(s.text("nested") == "[[1],[2]]");
  CHECK(s.text("texts") == R"(["a","b"])");
}

TEST_CASE("of members of one name the last counts") {
  sample s;
  set_from(R"({"a": 1, "a": "x"})", s);
  CHECK(s.text("a") == "x");
  CHECK(s.fields().size() == 1);
}

TEST_CASE("lines other than a JSON object are bad samples") {
  for (const auto* line : {"", " ", "{", "{}{}", "[1]", "1", "null", "\"a\"", "{\"a\": nan}",
                           "{\"a\": \"\xff\"}", "{\"a\": 1e999}", "{'a': 1}", "{\"a\": 01}"}) {
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
  CHECK(cause_of(std::string(10'000'000, '[')) == cause::too_large);
  CHECK(!cause_of("{\"a\": \"\\\"" + std::string(1000, '[') + "\"}"));
}
