#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"
#include "tests/support/expected_error.hpp"

#include <leat/source.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat::sample_test {
namespace {

/// A sample on its way into a row of ragged fields.
struct ragged_fixture {
  batch_layout layout;
  std::vector<ragged_buffer> rows;
  std::vector<std::byte*> dense;
  std::vector<ragged_row> ragged;
  row_target target;
  sample x;

  explicit ragged_fixture(const std::vector<field_layout>& fields)
      : layout(fields), rows(fields.size()), dense(fields.size()) {
    for (auto& row : rows)
      ragged.push_back({.in = &row});
    target = {&layout, dense, ragged};
    begin();
  }

  void begin() { sample_access::reset(x, &target); }
};

/// A sample on its way into a batch row with the fields "f" (f32 [3]), "n" (i32) and "t" (bytes).
struct row_fixture {
  batch_layout layout{{{.name = "f", .type = dtype::f32, .dims = {3}},
                       {.name = "n", .type = dtype::i32},
                       {.name = "t", .ragged = true}}};
  std::vector<float> f = {-1, -1, -1};
  std::int32_t n = -1;
  ragged_buffer t;
  std::vector<std::byte*> dense{reinterpret_cast<std::byte*>(f.data()),
                                reinterpret_cast<std::byte*>(&n), nullptr};
  std::vector<ragged_row> ragged{{}, {}, {.in = &t}};
  row_target target{&layout, dense, ragged};
  sample x;

  row_fixture() { begin(); }

  void begin() { sample_access::reset(x, &target); }

  std::string text() const { return {reinterpret_cast<const char*>(t.data()), t.size()}; }
};

std::pair<cause, std::string> wrong_shape(const std::string& text) {
  return {cause::wrong_shape, text};
}

/// What the absence of a field is called in a sample that has others.
std::pair<cause, std::string> missing(const std::string& name, const std::string& others) {
  return {cause::missing_field, "field \"" + name + "\" is missing; the sample has " + others
                                    + "; default_field@1(field=\"" + name
                                    + "\", value=...) sets it"};
}

std::vector<int> ints(std::span<const int> x) {
  return {x.begin(), x.end()};
}

TEST_CASE("sample: fields of every kind read back as they were set") {
  sample x;
  x.set("scalar", 2.5);
  x.set("text", "abc");
  x.set("empty", "");
  const std::vector<int> six{1, 2, 3, 4, 5, 6};
  x.set<int>("matrix", six, {2, 3});
  CHECK(x.get<double>("scalar") == 2.5);
  CHECK(x.text("text") == "abc");
  CHECK(x.bytes("empty").empty());
  auto view = x.view<int, 2>("matrix");
  CHECK(view.extents() == std::array<std::size_t, 2>{2, 3});
  CHECK(view(1, 0) == 4);
  CHECK(view[1][2] == 6);
  CHECK(x.bytes("matrix").size() == 24);
  CHECK(x.fields() == std::vector<std::string>{"scalar", "text", "empty", "matrix"});
  CHECK(x.has("text"));
  CHECK_FALSE(x.has("tex"));
}

TEST_CASE("sample: vectors, arrays, spans and truth values are set as they are written") {
  sample x;
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> more{7, 8};
  std::array<std::uint8_t, 3> bytes{9, 10, 11};
  const std::size_t n = numbers.size();
  x.set("vector", numbers, {n});
  x.set("matrix", numbers, {2, 3});
  x.set("own", more, {more.size()});
  x.set("array", bytes, {3});
  x.set("span", std::span<const float>{numbers}, {n});
  x.set("writable", std::span{more}, {2});
  x.set<double>("explicit", std::vector<double>{0.5}, {1});
  x.set("yes", true);
  x.set("no", false);
  x.set("text", std::string{"text"});
  CHECK(x.view<float, 1>("vector")(5) == 6);
  CHECK(x.view<float, 2>("matrix")(1, 0) == 4);
  CHECK(x.view<std::int64_t, 1>("own")(1) == 8);
  CHECK(x.view<std::uint8_t, 1>("array")(2) == 11);
  CHECK(x.view<float, 1>("span")(0) == 1);
  CHECK(x.view<std::int64_t, 1>("writable")(0) == 7);
  CHECK(x.view<double, 1>("explicit")(0) == 0.5);
  CHECK(x.type_of("yes") == dtype::u8);
  CHECK(x.get<std::uint8_t>("yes") == 1);
  CHECK(x.get<bool>("yes"));
  CHECK_FALSE(x.get<bool>("no"));
  CHECK(x.is_bytes("text"));
  CHECK_THROWS_AS(x.set("vector", numbers, {5}), bad_sample);
}

TEST_CASE("sample: ragged fields of every type are read as tensors") {
  sample x;
  const std::vector<std::int32_t> tokens{7, 8, 9};
  x.set_ragged("tokens", tokens);
  const std::vector<float> boxes{1, 2, 3, 4, 5, 6, 7, 8};
  x.set_ragged("boxes", boxes, {4});
  x.make_ragged<double>("wave", 2)[1] = 0.5;
  x.set_ragged("none", std::vector<std::uint16_t>{}, {2, 3});
  for (const char* name : {"tokens", "boxes", "wave", "none"}) {
    CHECK(x.is_ragged(name));
    CHECK_FALSE(x.is_bytes(name));
  }
  CHECK(ints(x.view<std::int32_t, 1>("tokens").flat()) == tokens);
  CHECK(x.shape_of("boxes") == shape{2, 4});
  CHECK(x.view<float, 2>("boxes")(1, 3) == 8);
  CHECK(x.type_of("wave") == dtype::f64);
  CHECK(x.view<double, 1>("wave")(1) == 0.5);
  CHECK(x.shape_of("none") == shape{0, 2, 3});
  CHECK(bad_sample_of([&] { x.view<float, 1>("boxes"); })
        == wrong_shape("field is boxes ragged f32 [4], asked for f32 of rank 1"));
  x.set("dense", 1);
  CHECK_FALSE(x.is_ragged("dense"));
  x.set("tokens", 1);
  CHECK_FALSE(x.is_ragged("tokens"));
}

TEST_CASE("sample: bytes are ragged u8, however they were set") {
  sample x;
  x.set("set", "abc");
  x.set_ragged("made", std::vector<std::uint8_t>{'a', 'b', 'c'});
  CHECK(x.is_ragged("set"));
  CHECK(x.is_bytes("made"));
  CHECK(x.text("made") == "abc");
  auto layout = sample_access::layout_of(x, "made");
  layout.name = "set";
  CHECK(layout == sample_access::layout_of(x, "set"));
}

TEST_CASE("sample: parts of an element, and elements without bytes, are not a ragged field") {
  sample x;
  const std::vector<int> five{1, 2, 3, 4, 5};
  CHECK(bad_sample_of([&] { x.set_ragged("a", five, {2}); })->first == cause::wrong_shape);
  CHECK(bad_sample_of([&] { x.set_ragged("a", five, {0}); })->first == cause::wrong_shape);
  CHECK(bad_sample_of([&] { x.make_ragged<int>("a", 1, {3, 0}); })->first == cause::wrong_shape);
  x.set_ragged("a", five);
  x.set_ragged("a", x.view<int, 1>("a").flat().subspan(1), {2}); // of itself
  CHECK(ints(x.view<int, 2>("a").flat()) == std::vector{2, 3, 4, 5});
}

TEST_CASE("sample: a ragged field goes only into a row of its type and element") {
  ragged_fixture row{{{.name = "v", .ragged = true, .type = dtype::f32, .dims = {2}}}};
  auto& x = row.x;
  const auto& v = row.rows[0];
  auto delivered = [&](auto set) {
    row.begin();
    set();
    return bad_sample_of([&] { sample_access::deliver(x); });
  };
  const std::vector<float> four{1, 2, 3, 4};
  CHECK_FALSE(delivered([&] { x.set_ragged("v", four, {2}); }));
  CHECK(v.size() == 16);
  CHECK_FALSE(delivered([&] { x.set_ragged("v", std::vector<float>{}, {2}); }));
  CHECK(v.size() == 0);
  CHECK(delivered([&] { x.set_ragged("v", four, {4}); })
        == wrong_shape("got v ragged f32 [4], the batch has v ragged f32 [2]"));
  CHECK(delivered([&] { x.set_ragged("v", four); })->first == cause::wrong_shape);
  CHECK(delivered([&] { x.set("v", four, {2, 2}); })->first == cause::wrong_shape);
  CHECK(delivered([&] { x.set("v", "bytes"); })->first == cause::wrong_shape);
  const std::vector<int> ints{1, 2};
  CHECK(delivered([&] { x.set_ragged("v", ints, {2}); })->first == cause::wrong_shape);
}

TEST_CASE("sample: a field that is set again has its new kind, and its old place") {
  sample x;
  x.set("a", "bytes");
  x.set("b", 1);
  x.set("a", std::int8_t{7});
  CHECK(x.get<std::int8_t>("a") == 7);
  x.set("b", "longer than before");
  CHECK(x.text("b") == "longer than before");
  CHECK(x.fields() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("sample: an erased field is gone, and the others keep their content and order") {
  sample x;
  for (const char* name : {"a", "b", "c"})
    x.set(name, std::string_view{name});
  x.erase("a");
  x.erase("none");
  CHECK(x.fields() == std::vector<std::string>{"b", "c"});
  CHECK(x.text("b") == "b");
  CHECK(x.text("c") == "c");
  x.set("a", "new");
  CHECK(x.text("a") == "new");
  CHECK(x.fields() == std::vector<std::string>{"b", "c", "a"});
}

TEST_CASE("sample: a missing field is named in the error, with those that exist") {
  sample x;
  CHECK(bad_sample_of([&] { x.bytes("jpg"); }) == missing("jpg", "none"));
  x.set("cls", "1");
  x.set("png", "");
  CHECK(bad_sample_of([&] { x.get<int>("jpg"); }) == missing("jpg", "cls png"));
}

TEST_CASE("sample: a missing field whose ending is there says that keys end at the first dot") {
  const auto text_of = [](const char* have, const char* want) {
    sample x;
    x.set(have, "1");
    return bad_sample_of([&] { x.bytes(want); }).value().second;
  };
  const std::string hint = "a key ends at the first dot";
  CHECK(text_of("05.png", "png").find(hint) != std::string::npos);
  CHECK(text_of("05.png", "06.png").find(hint) != std::string::npos);
  CHECK(text_of("05.png", "jpg").find(hint) == std::string::npos);
  CHECK(text_of("png", "seg.png").find(hint) == std::string::npos);
}

TEST_CASE("sample: a wrong type, rank or kind is named in the error, with what was asked for") {
  sample x;
  x.set("n", std::int32_t{1});
  x.set("t", "text");
  CHECK(bad_sample_of([&] { x.get<float>("n"); })
        == wrong_shape("field is n i32 [], asked for f32 of rank 0"));
  CHECK(bad_sample_of([&] { x.view<std::int32_t, 1>("n"); })
        == wrong_shape("field is n i32 [], asked for i32 of rank 1"));
  CHECK(bad_sample_of([&] { x.get<std::uint8_t>("t"); })
        == wrong_shape("field is t bytes, asked for u8 of rank 0"));
  const std::vector<int> three{1, 2, 3};
  const shape square{2, 2};
  CHECK(bad_sample_of([&] { x.set<int>("v", three, square); })
        == wrong_shape("field \"v\": got 3 elements for shape [2, 2]"));
  CHECK_FALSE(x.has("v"));
}

TEST_CASE("sample: a function may replace the tensor that it reads, more than once") {
  row_fixture row;
  for (bool in_batch : {true, false}) {
    CAPTURE(in_batch);
    sample x;
    sample_access::reset(x, in_batch ? &row.target : nullptr);
    auto first = x.make<float>("f", {3});
    for (int i = 0; i < 3; ++i)
      first[static_cast<std::size_t>(i)] = static_cast<float>(i);
    for (float round = 1; round <= 4; ++round) { // each time f[i] = old f[i] + old f[0] + 1
      const auto old = x.view<float, 1>("f");
      auto fresh = x.make<float>("f", {3});
      for (std::size_t i = 0; i < 3; ++i)
        fresh[i] = old[i] + old[0] + 1;
    }
    const auto result = x.view<float, 1>("f");
    CHECK(std::vector<float>(result.flat().begin(), result.flat().end())
          == std::vector<float>{15, 16, 17});
  }
}

TEST_CASE("sample: a function may set bytes from the field's own bytes, more than once") {
  sample x;
  x.set("t", "0123456789");
  for (int i = 0; i < 3; ++i)
    x.set("t", x.text("t").substr(1));
  CHECK(x.text("t") == "3456789");
  for (int i = 0; i < 3; ++i)
    x.set("t", x.bytes("t").first(x.bytes("t").size() - 1));
  CHECK(x.text("t") == "3456");
  const auto old = x.text("t");
  auto fresh = x.make_bytes("t", 1000);
  std::fill(fresh.begin(), fresh.end(), std::byte{'x'});
  CHECK(old == "3456");
}

TEST_CASE("sample: a tensor set from a view of itself is a copy") {
  sample x;
  const std::vector<int> four{1, 2, 3, 4};
  x.set<int>("v", four, {4});
  for (int round = 0; round < 2; ++round)
    x.set<int>("v", x.view<int, 1>("v").flat().first(4), {2, 2}),
        x.set<int>("v", x.view<int, 2>("v").flat(), {4});
  CHECK(ints(x.view<int, 1>("v").flat()) == four);
}

TEST_CASE_METHOD(row_fixture, "sample: what the batch has is made in the batch") {
  CHECK(x.make<float>("f", {3}).data() == f.data());
  x.set("n", std::int32_t{5});
  CHECK(n == 5);
  CHECK(static_cast<void*>(x.make<float>("other", {3}).data()) != f.data());
}

TEST_CASE(
    "sample: ragged fields that the batch has are made in the batch, and stay what they are") {
  ragged_fixture row{{{.name = "a", .ragged = true, .type = dtype::u16},
                      {.name = "b", .ragged = true, .type = dtype::u16}}};
  auto& x = row.x;
  const auto& a = row.rows[0];
  const auto& b = row.rows[1];
  using tokens = std::vector<std::uint16_t>;
  const auto numbers = [](const ragged_buffer& from) {
    tokens result(from.size() / 2);
    if (from.size() > 0) // memcpy takes no null
      std::memcpy(result.data(), from.data(), from.size());
    return result;
  };
  x.set_ragged("a", tokens{1, 2, 3});
  CHECK(x.bytes("a").data() == a.data());
  // The row of one field becomes the content of another.
  sample_access::rename(x, "a", "b");
  x.set_ragged("a", tokens{7});
  sample_access::deliver(x);
  CHECK(numbers(a) == tokens{7});
  CHECK(numbers(b) == tokens{1, 2, 3});
  // A shorter row, one that is set again from its own content, and an empty one.
  row.begin();
  x.set_ragged("a", tokens{});
  x.set_ragged("b", tokens{4, 5});
  x.set_ragged("b", x.view<std::uint16_t, 1>("b").flat().subspan(1));
  sample_access::deliver(x);
  CHECK(numbers(a).empty());
  CHECK(numbers(b) == tokens{5});
  // A field of another type is not made in the batch, and is refused.
  row.begin();
  x.set_ragged("a", tokens{1});
  x.set_ragged("b", std::vector<int>{1});
  CHECK(x.bytes("b").data() != b.data());
  CHECK(bad_sample_of([&] { sample_access::deliver(x); })->first == cause::wrong_shape);
}

TEST_CASE("sample: a row behind others keeps to its place") {
  ragged_fixture row{{{.name = "a", .ragged = true, .type = dtype::u8}}};
  auto& x = row.x;
  const auto& a = row.rows[0];
  std::string all;
  for (const std::string text : {"first", "", "the third is made elsewhere", "last"}) {
    std::size_t end = 99;
    row.ragged[0].begin = all.size();
    row.ragged[0].end = &end;
    row.begin();
    x.set_ragged("a", std::span{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    if (text.size() > 5) {
      CHECK(x.bytes("a").data() == a.data() + all.size());
      x.set("a", text.substr(4)); // not in the batch
    }
    CHECK(end == 99);
    sample_access::deliver(x);
    all += text.size() > 5 ? text.substr(4) : text;
    CHECK(end == all.size());
    CHECK(std::string{reinterpret_cast<const char*>(a.data()), a.size()} == all);
  }
}

TEST_CASE_METHOD(row_fixture, "sample: another shape or type is not made in the batch") {
  CHECK(x.make<float>("f", {2}).data() != f.data());
  begin();
  CHECK(static_cast<void*>(x.make<std::int32_t>("f", {3}).data()) != f.data());
  begin();
  CHECK(x.make<float>("f", {1, 3}).data() != f.data());
  CHECK(f == std::vector<float>{-1, -1, -1});
}

TEST_CASE_METHOD(row_fixture, "sample: delivery copies into the batch what is elsewhere") {
  const std::vector<float> values{1, 2, 3};
  x.set<float>("f", values, {3});
  x.set<float>("f", x.view<float, 1>("f").flat(), {3}); // replaced: no longer in the batch
  x.make<float>("f", {3})[0] = 9;
  const std::vector<float> last{4, 5, 6};
  x.set<float>("f", last, {3});
  x.set("n", std::int32_t{8});
  x.set("t", "text");
  x.set("unasked", "for");
  sample_access::deliver(x);
  CHECK(f == last);
  CHECK(n == 8);
  CHECK(text() == "text");
}

TEST_CASE_METHOD(row_fixture, "sample: delivery refuses a missing field and a wrong shape") {
  x.set("n", std::int32_t{8});
  x.set("t", "");
  const auto delivered = [&] { return bad_sample_of([&] { sample_access::deliver(x); }); };
  CHECK(delivered() == missing("f", "n t"));
  x.make<float>("f", {2, 2});
  CHECK(delivered() == wrong_shape("got f f32 [2, 2], the batch has f f32 [3]"));
  x.set("f", "bytes");
  CHECK(delivered() == wrong_shape("got f bytes, the batch has f f32 [3]"));
  x.make<std::int64_t>("f", {3});
  CHECK(delivered()
        == wrong_shape("got f i64 [3], the batch has f f32 [3]; for one type: cast@1(field=\"f\", "
                       "type=\"f32\"), or json_lines(..., types=[\"f:f32\"])"));
}

TEST_CASE_METHOD(row_fixture, "sample: borrowed bytes are not copied before delivery") {
  const std::string lent = "lent by the source";
  x.borrow("t", std::as_bytes(std::span{lent.data(), lent.size()}));
  CHECK(x.text("t").data() == lent.data());
  x.set("f", "");
  x.make<float>("f", {3})[0] = 1;
  x.set("n", std::int32_t{0});
  sample_access::deliver(x);
  CHECK(text() == lent);
  x.set("t", x.text("t").substr(5));
  CHECK(x.text("t") == "by the source");
  CHECK(lent == "lent by the source");
}

TEST_CASE_METHOD(row_fixture, "sample: nothing of a row is left in the next one") {
  for (int i = 0; i < 100; ++i) {
    begin();
    REQUIRE(x.fields().empty());
    const bool odd = i % 2 == 1;
    if (odd)
      x.set("only in odd rows", i);
    x.set("t", std::string(static_cast<std::size_t>(i), 'a'));
    auto values = x.make<float>("f", {3});
    std::fill(values.begin(), values.end(), static_cast<float>(i));
    x.set("n", std::int32_t{i});
    sample_access::deliver(x);
    REQUIRE(x.has("only in odd rows") == odd);
    REQUIRE(text() == std::string(static_cast<std::size_t>(i), 'a'));
    REQUIRE(f == std::vector<float>(3, static_cast<float>(i)));
    REQUIRE(n == i);
  }
}

TEST_CASE("sample: tensors without elements pass through") {
  batch_layout layout{{{.name = "none", .type = dtype::f32, .dims = {0, 4}}}};
  std::byte* row = nullptr;
  const ragged_row no_bytes;
  const row_target target{&layout, {&row, 1}, {&no_bytes, 1}};
  sample x;
  sample_access::reset(x, &target);
  x.set<float>("none", std::span<const float>{}, {0, 4});
  x.set<float>("none", x.view<float, 2>("none").flat(), {0, 4});
  sample_access::deliver(x);
  CHECK(x.view<float, 2>("none").size() == 0);
}

TEST_CASE("sample: its fields describe a layout, whatever they were before") {
  sample x;
  x.set("z", "bytes");
  x.set("a", 1.5F);
  x.make<std::uint8_t>("m", {4, 5});
  x.set("z", std::int64_t{1});
  x.set("m", "bytes");
  const auto fields = sample_access::fields(x);
  REQUIRE(fields.size() == 3);
  CHECK(to_string(fields[0]) == "z i64 []");
  CHECK(to_string(fields[1]) == "a f32 []");
  CHECK(to_string(fields[2]) == "m bytes");
  const batch_layout layout{fields};
  CHECK(layout.fields()[0].name == "a");
  CHECK(layout.find("z") == 2);
  CHECK(layout.find("zz") == 3);
}

TEST_CASE("sample: bytes read are counted once") {
  sample x;
  x.count_read(5);
  x.count_read(7);
  CHECK(sample_access::take_bytes_read(x) == 12);
  CHECK(sample_access::take_bytes_read(x) == 0);
}

TEST_CASE("a sample that owns its bytes holds nothing that it had borrowed from") {
  class block final : public payload {
  public:
    std::vector<std::byte> bytes{std::byte{'a'}, std::byte{'b'}};
  };
  sample x;
  sample_access::reset(x, nullptr);
  auto lent = std::make_shared<const block>();
  const std::weak_ptr<const block> alive = lent;
  x.borrow("text", lent->bytes);
  source_access::keep_alive(x, std::move(lent));
  REQUIRE_FALSE(alive.expired());
  sample_access::own(x);
  REQUIRE(alive.expired());
  REQUIRE(x.text("text") == "ab");
}

} // namespace
} // namespace leat::sample_test
