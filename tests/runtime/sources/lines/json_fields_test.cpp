#include "runtime/sources/lines/json_fields.hpp"
#include "tests/support/expected_error.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat::json_fields_test {
namespace {

/// The line's bytes are in the sample, as if a worker had read them. The bytes after it look like
/// more of it.
void set_from(std::string_view line, sample& into, const json_types& types = {}) {
  const auto bytes = into.scratch(line.size() + json_slack);
  std::memset(bytes.data() + line.size(), '}', json_slack);
  bytes[line.size()] = std::byte{'\n'};
  std::memcpy(bytes.data(), line.data(), line.size());
  set_json_fields(bytes.first(line.size()), into, types);
}

std::optional<cause> cause_of(std::string_view line, const json_types& types = {}) {
  sample s;
  return leat::cause_of([&] { set_from(line, s, types); });
}

/// What the error of a line says; nothing if it is good.
std::string told(std::string_view line) {
  sample s;
  return bad_sample_of([&] { set_from(line, s); }).value_or(std::pair{cause{}, ""}).second;
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
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

TEST_CASE("integers that int64 cannot hold are refused, with what to do, and never rounded") {
  sample s;
  set_from(R"({"most": 9223372036854775807, "least": -9223372036854775808, "much": 1e20})", s);
  CHECK(s.get<std::int64_t>("most") == std::numeric_limits<std::int64_t>::max());
  CHECK(s.get<std::int64_t>("least") == std::numeric_limits<std::int64_t>::min());
  CHECK(s.get<double>("much") == 1e20);
  for (const auto* line : {R"({"a": 9223372036854775808})", R"({"a": 18446744073709551615})",
                           R"({"a": -9223372036854775809})", R"({"a": 100000000000000000000})",
                           R"({"a": [0.5, 9223372036854775808]})"}) {
    CAPTURE(line);
    CHECK(cause_of(line) == cause::unsupported);
  }
  // Invalid JSON is reported first; a number that is not used as one may have any size.
  CHECK(cause_of(R"({"a": 9223372036854775808)") == cause::corrupt);
  CHECK(!cause_of(R"({"a": [9223372036854775808, "x"], "b": {"c": 9223372036854775808}})"));
  CHECK(!cause_of(R"({"a": 9223372036854775808, "b": 2, "a": 1})"));
  CHECK(cause_of(R"({"a": 9223372036854775808, "b": 9223372036854775808, "a": 1})"));
  CHECK(has(told(R"({"id": 9223372036854775808})"), "\"id:u64\""));
}

TEST_CASE("a field with a type has it, whatever its value looks like") {
  const json_types types{std::map<std::string, std::string>{
      {"f", "f64"}, {"g", "f32"}, {"u", "u64"}, {"i", "i16"}, {"b", "bytes"}, {"n", "f64"}}};
  sample s;
  set_from(R"({"f": 1, "g": 0.1, "u": 18446744073709551615, "i": true, "b": [1, "x"], "n": null})",
           s, types);
  CHECK(s.get<double>("f") == 1);
  CHECK(s.get<float>("g") == 0.1F);
  CHECK(s.get<std::uint64_t>("u") == std::numeric_limits<std::uint64_t>::max());
  CHECK(s.get<std::int16_t>("i") == 1);
  CHECK(s.text("b") == R"([1, "x"])");
  CHECK(!s.has("n"));
  sample t;
  set_from(R"({"f": [], "g": [1, 2.5], "u": [9223372036854775808, 1.0], "b": "te\u0078t"})", t,
           types);
  CHECK(elements<double>(t, "f").empty());
  CHECK(elements<float>(t, "g") == std::vector<float>{1, 2.5});
  CHECK(elements<std::uint64_t>(t, "u") == std::vector<std::uint64_t>{9223372036854775808U, 1});
  CHECK(t.text("b") == "text");
  sample u;
  set_from(R"({"f": 9007199254740993, "b": 0.50, "i": -32768})", u, types);
  CHECK(u.get<double>("f") == 9007199254740992);
  CHECK(u.text("b") == "0.50");
  for (const auto* line :
       {R"({"f": "1"})", R"({"f": {}})", R"({"f": [1, "x"]})", R"({"f": [true]})",
        R"({"i": 32768})", R"({"i": 0.5})", R"({"u": -1})", R"({"u": 18446744073709551616})",
        R"({"g": 1e39})", R"({"i": [1, 70000]})"}) {
    CAPTURE(line);
    CHECK(cause_of(line, types) == cause::wrong_shape);
  }
  CHECK(cause_of(R"({"f": "1")", types) == cause::corrupt);
  CHECK(!cause_of(R"({"f": "1", "f": 1})", types));
}

TEST_CASE("types of JSON are texts of pipelines, and other words are refused") {
  const std::map<std::string, std::string> all{{"a:b", "u64"}, {"s", "bytes"}};
  CHECK(json_types{all}.texts() == std::vector<std::string>{"a:b:u64", "s:bytes"});
  CHECK(json_types_in({"s:bytes", "a:b:u64"}) == all);
  for (const auto* type : {"f16", "bf16", "int", "", "F64"})
    CHECK_THROWS_AS((json_types{std::map<std::string, std::string>{{"a", type}}}), error);
  CHECK_THROWS_AS(json_types_in({"a"}), error);
  CHECK_THROWS_AS(json_types_in({"a:u8", "a:u16"}), error);
}

TEST_CASE("null is no field") {
  sample s;
  set_from(R"({"a": null, "b": 1, "c": 2, "c": null, "d": null, "d": 3})", s);
  CHECK(s.fields() == std::vector<std::string>{"b", "d"});
  const auto x = bad_sample_of([&] { (void)s.text("a"); }).value();
  CHECK(x.first == cause::missing_field);
  CHECK(has(x.second, "default_field@1(field=\"a\", value="));
}

TEST_CASE("arrays of numbers become tensors of rank 1") {
  sample s;
  set_from(R"({"i": [1, -2, 3], "f": [1, 2.5], "none": []})", s);
  CHECK(elements<std::int64_t>(s, "i") == std::vector<std::int64_t>{1, -2, 3});
  CHECK(elements<double>(s, "f") == std::vector<double>{1, 2.5});
  CHECK(elements<std::int64_t>(s, "none").empty());
}

TEST_CASE("everything else becomes its text, as it stands") {
  sample s;
  set_from(R"({"object": { "b": [1, "x"], "a": "\u00fc" }  , "mixed":[1, true],
               "nested": [[1], [ 2 ] ], "texts": ["a", "b\n"], "numbers": [1.50, {}, 1e2]} )",
           s);
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
               18446744073709551615.0, 1e-400, -1e-400, 0e999999999999999999999, 0.001e310]})",
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
  const std::vector<std::vector<const char*>> bad{
      {"", " ", "{", "{}{}", "{} x", "[1]", "[{}]", "1", "null", "\"a\"", "{'a': 1}", "{1: 2}"},
      {R"({"a": nan})", R"({"a": 1e999})", R"({"a": [0.001e312]})", R"({"a": 01})", R"({"a": 1.})",
       R"({"a": .5})", R"({"a": +1})", R"({"a": -})", R"({"a": 1e})", R"({"a": [[1 2]]})",
       R"({"a": {"b": 01}})"},
      {R"({"a": [nul]})", R"({"a": tru})", R"({"a": [[truex]]})", R"({"a": nulls})"},
      {"{\"a\": \"\xff\"}", "{\"a\": [\"\xff\"]}", "{\"a\": \"\t\"}", R"({"a": "\x"})",
       R"({"a": ["\x", 1]})", R"({"a": "\ud800"})", R"({"a": ["\udc00"]})",
       R"({"a": "\ud800\u0041"})", R"({"\ud800": 1})", R"({"a": {"\x": 1}})", R"({"a": "\u12g4"})"},
      {R"({"a": 1,})", R"({"a": [1,]})", R"({"a": [,1]})", R"({"a": })", R"({"a"})", R"({"a" 1})",
       R"({"a": 1 "b": 2})", R"({"a": 1])", R"({"a": [1})", R"({"a": "x})", R"({"a": {"b" 1}})",
       R"({"a": "b": 1})", R"({"a":":a":2,"a":1}})", R"({"a": 1: 2})", R"({"a": ["b": 1]})",
       R"({"a": [[]})"}};
  for (const auto& some : bad)
    for (const auto* line : some) {
      CAPTURE(line);
      CHECK(cause_of(line) == cause::corrupt);
    }
  CHECK(!cause_of("{}"));
  CHECK(!cause_of(" {} \r"));
}

TEST_CASE("what is wrong with a line is said without the library's name for it") {
  CHECK_FALSE(has(told("{"), "[json"));
  CHECK(has(told("{"), "parse error at column 2"));
}

TEST_CASE("what others write in place of a line of JSON is told by its name, with what to do") {
  using namespace std::string_literals;
  for (const auto& line : {"\xFF\xFE{\0\"\0"s, "\xFE\xFF\0{"s, "{\0\"\0a\0"s, "\0{\0\""s})
    CHECK(has(told(line), "iconv -f UTF-16"));
  for (const auto* line :
       {"{", "[", " {  ", "{\r", "[{", R"({"a": 1,)", R"({"a": 1},)", R"({"a": {)"})
    CHECK(has(told(line), "jq -c"));
  for (const auto* line : {R"({"x": NaN})", R"({"x":Infinity})", R"({"x": [1, -Infinity]})"})
    CHECK(has(told(line), "json.dumps"));
  for (const auto* line : {R"({"x": "NaN")", R"({"NaN": })", R"({"x": "a: NaN })", "{\"a\": \0}"})
    CHECK_FALSE(has(told(line), "iconv"));
  CHECK_FALSE(has(told(R"({"x": "NaN")"), "json.dumps"));
  CHECK(told(R"({"x": "NaN"})").empty());
}

TEST_CASE("nesting is limited") {
  auto nested = [](std::size_t depth, const std::string& first = "") {
    return "{\"a\":" + first + std::string(depth - 1, '[') + std::string(depth - 1, ']')
           + (first.empty() ? "}" : "]}");
  };
  CHECK(!cause_of(nested(max_json_depth)));
  CHECK(cause_of(nested(max_json_depth + 1)) == cause::too_large);
  CHECK(cause_of(nested(max_json_depth + 1) + "}") == cause::too_large);
  CHECK(!cause_of(nested(max_json_depth - 1, "[1, ")));
  CHECK(cause_of(nested(max_json_depth, "[1, ")) == cause::too_large);
  CHECK(cause_of(std::string(10'000'000, '[')) == cause::too_large);
  CHECK(!cause_of("{\"a\": \"\\\"" + std::string(1000, '[') + "\"}"));
}

} // namespace leat::json_fields_test
