#include "tests/support/applied_map.hpp"
#include "tests/support/test.hpp"

#include <leat/functions.hpp>

namespace leat::functions_test {
namespace {

using test::apply;
using test::elements;
using texts = std::vector<std::string>;

bool holds(const filter_stage& predicate, sample& x) {
  return predicate.make()(x);
}

/// Whether the predicate holds for a sample whose field "f" has this value.
template <class T>
bool holds_of(const filter_stage& predicate, const T& value) {
  sample x;
  x.set("f", value);
  return holds(predicate, x);
}

/// The children of samples, each of which `make` makes again: what `show` returns for them.
template <class Make, class Show>
texts children(const flat_map_stage& stage, Make make, Show show) {
  const auto function = stage.make();
  sample first;
  make(first);
  texts result;
  for (std::uint64_t child = 0, n = function.count(first); child < n; ++child) {
    sample x;
    make(x);
    function.pick(x, child);
    result.push_back(show(x));
  }
  return result;
}

texts text_children(const flat_map_stage& stage, const std::string& text) {
  return children(
      stage, [&](sample& x) { x.set("f", text); },
      [](const sample& x) { return std::string{x.text("f")}; });
}

/// What a scan sets in each of these samples, one after the other in one lane.
template <class T>
std::vector<std::int64_t> scanned(const scan_stage& stage, const std::vector<T>& values) {
  const auto function = stage.make();
  auto state = stage.initial;
  std::vector<std::int64_t> result;
  for (const auto& value : values) {
    sample x;
    x.set("f", value);
    const auto found = function.look(x);
    function.apply(x, stage.step(state, found));
    result.push_back(x.get<std::int64_t>("n"));
  }
  return result;
}

template <class T>
void pad_with(sample& x, const std::vector<T>& values, std::uint64_t length, double value) {
  x.set<T>("f", values, {values.size()});
  apply(pad("f", length, value), x);
}

template <class T>
std::vector<T> padded(const std::vector<T>& values, std::uint64_t length, double value) {
  sample x;
  pad_with(x, values, length, value);
  return elements<T>(x);
}

} // namespace

TEST_CASE("key_hash keeps the ids that its formula gives, about as many as asked for") {
  // From the formula of docs/iterators.md, computed with python3-xxhash.
  CHECK(key_hash(31).of_id("count/7"));
  CHECK_FALSE(key_hash(31 - 1).of_id("count/7"));
  CHECK(key_hash(77, 5).of_id("count/7"));
  CHECK_FALSE(key_hash(77 - 1, 5).of_id("count/7"));
  const auto third = key_hash(33, 1);
  int kept = 0;
  for (int i = 0; i < 10'000; ++i)
    kept += third.of_id("count/" + std::to_string(i));
  CHECK(kept > 3100);
  CHECK(kept < 3500);
  CHECK_FALSE(key_hash(0).of_id("a"));
  CHECK(key_hash(100).of_id("a"));
  CHECK_FALSE(third.make);
}

TEST_CASE("key_matches looks only at the id") {
  const auto jpegs = key_matches("train/*.jp[eg]");
  CHECK(jpegs.of_id("train/a/b.jpg"));
  CHECK_FALSE(jpegs.of_id("train/a/b.png"));
  CHECK_FALSE(jpegs.make);
  const auto others = key_matches("*/README", true);
  CHECK(others.of_id("x.tar/000"));
  CHECK_FALSE(others.of_id("x.tar/README"));
  CHECK(others.parameters == "pattern=*/README invert=true");
  CHECK(jpegs.parameters == "pattern=train/*.jp[eg]");
}

TEST_CASE("field_hash keeps by content, as key_hash by id") {
  CHECK(holds_of(field_hash("f", 31), "count/7"));
  CHECK_FALSE(holds_of(field_hash("f", 31 - 1), "count/7"));
  int kept = 0;
  for (int i = 0; i < 1000; ++i)
    kept += holds_of(field_hash("f", 50), i);
  CHECK(kept > 440);
  CHECK(kept < 560);
}

TEST_CASE("field_between takes numbers of any form, both bounds inclusive") {
  const auto within = field_between("f", -1, 2.5);
  for (const auto* text : {"-1", "-1.0", "2.5", "0", "25e-1", "+1", ".5", "2."})
    CHECK(holds_of(within, text));
  for (const auto* text : {"-1.01", "2.6", "3", "1e9"})
    CHECK_FALSE(holds_of(within, text));
  CHECK(holds_of(within, std::int8_t{-1}));
  CHECK_FALSE(holds_of(within, std::int8_t{-2}));
  CHECK(holds_of(within, std::uint8_t{2}));
  CHECK(holds_of(within, 2.5F));
  CHECK_FALSE(holds_of(within, 2.6));
  CHECK_FALSE(holds_of(within, std::numeric_limits<std::uint64_t>::max()));
  CHECK(holds_of(field_between("f", {}, 0), std::numeric_limits<std::int64_t>::min()));
  CHECK_FALSE(holds_of(field_between("f", {}, 0), std::int64_t{1}));
  CHECK(holds_of(field_between("f", 0, {}), std::int64_t{1}));
  CHECK(holds_of(field_between("f", {}, {}), std::numeric_limits<double>::infinity()));
  CHECK_FALSE(holds_of(field_between("f", {}, {}), std::nan("")));
}

TEST_CASE("field_between takes texts of numbers that no float64 can hold for what they are") {
  for (const auto* text : {"1e400", "+1e400", "0.0001e405", "100e309", "1e99999999999999999999"}) {
    CAPTURE(text);
    CHECK(holds_of(field_between("f", 1e308, {}), text));
    CHECK_FALSE(holds_of(field_between("f", {}, 1e308), text));
    CHECK(holds_of(field_between("f", {}, -1e308), '-' + std::string{text}.substr(*text == '+')));
  }
  for (const auto* text :
       {"1e-400", "-1e-400", "1000e-403", "0.1e-399", "0e400", "-1e-99999999999999999999"}) {
    CAPTURE(text);
    CHECK(holds_of(field_between("f", 0, 0), text));
  }
}

TEST_CASE("field_between calls fields that are not numbers bad") {
  const auto within = field_between("f", 0, 1);
  for (const auto* text : {"", "x", "1 ", " 1", "0x1", "nan", "inf", "-", "+-1", "--1", "1e", ".",
                           "1e400x", "-inf", "e400"})
    CHECK(cause_of([&] { holds_of(within, text); }) == cause::corrupt);
  sample x;
  CHECK(cause_of([&] { holds(within, x); }) == cause::missing_field);
  x.set<int>("f", std::vector{1}, {1});
  CHECK(cause_of([&] { holds(within, x); }) == cause::wrong_shape);
}

TEST_CASE("bytes_between counts the bytes of any field") {
  const auto within = bytes_between("f", 2, 4);
  CHECK_FALSE(holds_of(within, "a"));
  CHECK(holds_of(within, "ab"));
  CHECK(holds_of(within, "abcd"));
  CHECK_FALSE(holds_of(within, "abcde"));
  CHECK(holds_of(within, std::int32_t{0}));
  CHECK_FALSE(holds_of(within, 0.0));
  CHECK(holds_of(bytes_between("f", {}, {}), ""));
  CHECK_FALSE(holds_of(bytes_between("f", 1, {}), ""));
}

TEST_CASE("copies are as many as asked for, and like their parent") {
  CHECK(text_children(copies(3), "x") == texts{"x", "x", "x"});
  CHECK(text_children(copies(0), "x").empty());
  CHECK(copies(3).children == 3);
}

TEST_CASE("split gives the parts between bytes, one more than there are") {
  CHECK(text_children(leat::split("f"), "a\nbc\n\nd") == texts{"a", "bc", "", "d"});
  CHECK(text_children(leat::split("f"), "") == texts{""});
  CHECK(text_children(leat::split("f"), "\n") == texts{"", ""});
  CHECK(text_children(leat::split("f", 0xff), "a\xff\nb") == texts{"a", "\nb"});
  CHECK_FALSE(leat::split("f").children);
}

TEST_CASE("windows are pieces of bytes or of a tensor, the last may be shorter") {
  CHECK(text_children(windows("f", 3), "abcdefg") == texts{"abc", "def", "g"});
  CHECK(text_children(windows("f", 3), "abcdef") == texts{"abc", "def"});
  CHECK(text_children(windows("f", 3), "").empty());
  const auto pairs = children(
      windows("f", 2),
      [](sample& x) {
        x.set<std::int16_t>("f", std::vector<std::int16_t>{1, -2, 3}, {3});
      },
      [](const sample& x) {
        std::string text;
        for (const auto value : elements<std::int16_t>(x))
          text += std::to_string(value) + ' ';
        return text;
      });
  CHECK(pairs == texts{"1 -2 ", "3 "});
  sample x;
  x.set("f", 1);
  CHECK(cause_of([&] { windows("f", 3).make().count(x); }) == cause::wrong_shape);
}

TEST_CASE("chunks overlap, and none only repeats what the one before it has") {
  CHECK(text_children(chunks("f", 4, 1), "abcdefg") == texts{"abcd", "defg"});
  CHECK(text_children(chunks("f", 4, 1), "abcdefgh") == texts{"abcd", "defg", "gh"});
  CHECK(text_children(chunks("f", 4, 3), "abcdef") == texts{"abcd", "bcde", "cdef"});
  CHECK(text_children(chunks("f", 4, 2), "abc") == texts{"abc"});
  CHECK(text_children(chunks("f", 4, 2), "abcd") == texts{"abcd"});
  CHECK(text_children(chunks("f", 4, 2), "").empty());
  CHECK(text_children(chunks("f", 3), "abcdefg") == text_children(windows("f", 3), "abcdefg"));
  for (std::size_t size = 0; size < 30; ++size)
    for (std::uint64_t length = 1; length < 8; ++length)
      for (std::uint64_t overlap = 0; overlap < length; ++overlap) {
        CAPTURE(size, length, overlap);
        const std::string text = std::string("abcdefghijklmnopqrstuvwxyz0123").substr(0, size);
        std::string joined;
        for (const auto& part : text_children(chunks("f", length, overlap), text)) {
          REQUIRE(part.size() <= length);
          REQUIRE((joined.empty() || part.size() > overlap));
          joined += joined.empty() ? part : part.substr(overlap);
        }
        REQUIRE(joined == text);
      }
}

TEST_CASE("running_count says how many came before") {
  CHECK(scanned(running_count("n"), std::vector{5, 5, 5}) == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("running_sum adds integers of any type, and wraps around") {
  CHECK(scanned(running_sum("f", "n"), std::vector<std::int8_t>{5, -7, 1})
        == std::vector<std::int64_t>{5, -2, -1});
  CHECK(scanned(running_sum("f", "n"), std::vector<std::uint32_t>{4'000'000'000, 4'000'000'000})
        == std::vector<std::int64_t>{4'000'000'000, 8'000'000'000});
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(scanned(running_sum("f", "n"), std::vector{most, std::int64_t{1}})
        == std::vector{most, std::numeric_limits<std::int64_t>::min()});
  CHECK(cause_of([] { scanned(running_sum("f", "n"), std::vector{1.5}); }) == cause::wrong_shape);
  CHECK(cause_of([] { scanned(running_sum("f", "n"), texts{"1"}); }) == cause::wrong_shape);
  CHECK(cause_of([] { scanned(running_sum("g", "n"), std::vector{1}); }) == cause::missing_field);
}

TEST_CASE("pad fills a field up to its length, in the field's own type") {
  CHECK(padded<std::int32_t>({1, 2}, 4, -100) == std::vector<std::int32_t>{1, 2, -100, -100});
  CHECK(padded<float>({1}, 3, 0.5) == std::vector{1.0F, 0.5F, 0.5F});
  CHECK(padded<std::uint64_t>({}, 1, 0x1p63) == std::vector{std::uint64_t{1} << 63});
  CHECK(padded<std::int8_t>({7, 8}, 2, 0) == std::vector<std::int8_t>{7, 8});
  sample x;
  x.set("f", "ab");
  apply(pad("f", 4, 'x'), x);
  CHECK(x.text("f") == "abxx");
  CHECK(x.is_bytes("f"));
}

TEST_CASE("pad calls longer fields bad, and types that do not have the value") {
  sample x;
  CHECK(cause_of([&] { pad_with<int>(x, {1, 2, 3}, 2, 0); }) == cause::too_large);
  CHECK(cause_of([&] { pad_with<std::uint8_t>(x, {1}, 2, 256); }) == cause::wrong_shape);
  CHECK(cause_of([&] { pad_with<std::uint8_t>(x, {1}, 2, -1); }) == cause::wrong_shape);
  CHECK(cause_of([&] { pad_with<int>(x, {1}, 2, 0.5); }) == cause::wrong_shape);
  CHECK(cause_of([&] { pad_with<std::int64_t>(x, {1}, 2, 0x1p63); }) == cause::wrong_shape);
  CHECK(cause_of([&] { pad_with<std::int64_t>(x, {1}, 2, std::nan("")); }) == cause::wrong_shape);
  CHECK_FALSE(cause_of([&] { pad_with<std::int64_t>(x, {1}, 2, -0x1p63); }));
}

TEST_CASE("truncate keeps the first elements, and cuts no character") {
  const auto kept = [&](const std::string& text, std::uint64_t length) {
    sample x;
    x.set("f", text);
    apply(leat::truncate("f", length), x);
    CHECK(x.is_bytes("f"));
    return std::string{x.text("f")};
  };
  CHECK(kept("abcdef", 4) == "abcd");
  CHECK(kept("abcd", 4) == "abcd");
  CHECK(kept("", 4).empty());
  const std::string text = "aü€😀z"; // 1, 2, 3, 4 and 1 bytes
  const std::vector<std::size_t> sizes{1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
  for (std::size_t length = 1; length <= sizes.size(); ++length) {
    CAPTURE(length);
    CHECK(kept(text, length) == text.substr(0, sizes[length - 1]));
  }
  CHECK(kept("€", 2).empty());
  CHECK(kept("\x80\x80\x80\x80", 2) == "\x80\x80"); // not UTF-8: cut exactly there
  CHECK(kept("a\xe2\x82", 2) == "a\xe2");           // a character that the text itself cuts
  sample x;
  x.set("f", std::vector<std::int32_t>{1, 2, 3}, {3});
  apply(leat::truncate("f", 2), x);
  CHECK(elements<std::int32_t>(x) == std::vector<std::int32_t>{1, 2});
  CHECK_FALSE(x.is_ragged("f"));
  apply(ragged("f"), x);
  apply(leat::truncate("f", 1), x);
  CHECK(x.is_ragged("f"));
  CHECK(elements<std::int32_t>(x) == std::vector<std::int32_t>{1});
  x.set("u", std::vector<std::uint8_t>{0xe2, 0x82, 0xac}, {3}); // not text
  apply(leat::truncate("u", 2), x);
  CHECK(x.shape_of("u") == shape{2});
  x.set("n", 1);
  CHECK(cause_of([&] { apply(leat::truncate("n", 2), x); }) == cause::wrong_shape);
  CHECK(cause_of([&] { apply(leat::truncate("none", 2), x); }) == cause::missing_field);
}

TEST_CASE("cast makes elements of another type, exactly or the nearest ones") {
  sample x;
  const auto casts = [&](const std::string& field, dtype to) { apply(cast(field, to), x); };
  x.set("n", std::int64_t{-3});
  casts("n", dtype::f64);
  CHECK(x.get<double>("n") == -3);
  casts("n", dtype::i8);
  CHECK(x.get<std::int8_t>("n") == -3);
  x.set("big", std::int64_t{16'777'217});
  casts("big", dtype::f32);
  CHECK(x.get<float>("big") == 16'777'216);
  x.set<double>("m", std::vector{1.0, 2.0, 300.0, 4.0}, {2, 2});
  casts("m", dtype::u16);
  CHECK(x.view<std::uint16_t, 2>("m")[1][0] == 300);
  x.set_ragged<int>("r", std::vector{5, 6});
  casts("r", dtype::u64);
  CHECK(x.is_ragged("r"));
  CHECK(x.view<std::uint64_t, 1>("r")[1] == 6);
  x.set("s", "12");
  for (const auto& [field, to] : {std::pair{"n", dtype::u8}, {"m", dtype::u8}, {"s", dtype::i64}})
    CHECK(cause_of([&, f = std::string{field}, t = to] { casts(f, t); }) == cause::wrong_shape);
  x.set("n", 0.5);
  CHECK(cause_of([&] { casts("n", dtype::i64); }) == cause::wrong_shape);
  x.set("n", 1e300);
  CHECK(cause_of([&] { casts("n", dtype::f32); }) == cause::wrong_shape);
  CHECK(cause_of([&] { casts("none", dtype::f32); }) == cause::missing_field);
  CHECK_THROWS_AS(cast("n", dtype::bf16), error);
}

TEST_CASE("drop_fields removes what is there") {
  sample x;
  x.set("a", "1");
  x.set("b", "2");
  x.set("c", "3");
  apply(drop_fields({"a", "none", "c"}), x);
  CHECK(x.fields() == std::vector<std::string>{"b"});
}

TEST_CASE("concat_fields joins bytes, or tensors of one type") {
  sample x;
  x.set("a", "one");
  x.set("b", "");
  x.set("c", "two");
  apply(concat_fields({"a", "b", "c"}, "f"), x);
  CHECK(x.text("f") == "onetwo");
  apply(concat_fields({"a", "b", "c"}, "f", 10), x);
  CHECK(x.text("f") == "one\n\ntwo");
  CHECK(x.is_bytes("f"));
  apply(concat_fields({"c", "a", "c"}, "a", '-'), x); // replaces one of them
  CHECK(x.text("a") == "two-one-two");
  CHECK(x.fields() == std::vector<std::string>{"a", "b", "c", "f"});
  x.set("i", std::vector<std::int64_t>{1, 2}, {2});
  x.set("k", std::vector<std::int64_t>{3}, {1});
  apply(concat_fields({"i", "k", "i"}, "f", 50256), x);
  CHECK(elements<std::int64_t>(x) == std::vector<std::int64_t>{1, 2, 50256, 3, 50256, 1, 2});
  CHECK_FALSE(x.is_ragged("f"));
  apply(ragged("k"), x);
  apply(concat_fields({"i", "k"}, "f"), x);
  CHECK(x.is_ragged("f"));
  CHECK(elements<std::int64_t>(x) == std::vector<std::int64_t>{1, 2, 3});
  x.set("u", std::vector<std::uint8_t>{'x'}, {1});
  apply(concat_fields({"u", "c"}, "f"), x);
  CHECK(x.is_bytes("f"));
  CHECK(x.text("f") == "xtwo");
  CHECK(cause_of([&] { apply(concat_fields({"a", "i"}, "f"), x); }) == cause::wrong_shape);
  CHECK(cause_of([&] { apply(concat_fields({"a", "none"}, "f"), x); }) == cause::missing_field);
  CHECK(cause_of([&] { apply(concat_fields({"a", "b"}, "f", 256), x); }) == cause::wrong_shape);
}

TEST_CASE("ragged lets a tensor's length vary, and leaves bytes what they are") {
  sample x;
  x.set("tokens", std::vector<std::int64_t>{1, 2, 3}, {3});
  x.set("boxes", std::vector<float>{1, 2, 3, 4}, {1, 4});
  x.set("text", "abc");
  x.set("scalar", 1);
  x.set("none", std::vector<int>{}, {2, 0});
  for (const char* name : {"tokens", "boxes", "text", "tokens"})
    apply(ragged(name), x);
  CHECK(x.is_ragged("tokens"));
  CHECK(x.view<std::int64_t, 1>("tokens")(2) == 3);
  CHECK(x.is_ragged("boxes"));
  CHECK(x.shape_of("boxes") == shape{1, 4});
  CHECK(x.is_bytes("text"));
  CHECK(cause_of([&] { apply(ragged("scalar"), x); }) == cause::wrong_shape);
  CHECK(cause_of([&] { apply(ragged("none"), x); }) == cause::wrong_shape);
  CHECK(cause_of([&] { apply(ragged("nowhere"), x); }) == cause::missing_field);
  apply(pad("tokens", 4, 9), x);
  CHECK(x.is_ragged("tokens"));
  CHECK(x.view<std::int64_t, 1>("tokens")(3) == 9);
}

} // namespace leat::functions_test
