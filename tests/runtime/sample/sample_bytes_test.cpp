#include "runtime/sample/sample_access.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <array>
#include <cstring>

namespace leat::sample_bytes_test {
namespace {

void fill(sample& x) {
  x.set("text", std::string_view{"some\0bytes", 10});
  x.set("empty", std::string_view{});
  x.set("label", std::int64_t{-7});
  const std::array<float, 6> values{1, 2, 3, 4, 5, 6.5F};
  x.set<float>("image", values, shape{2, 3});
  x.set<std::uint8_t>("nothing", std::span<const std::uint8_t>{}, shape{0, 4});
  x.set_ragged("tokens", std::vector<std::uint16_t>{1, 2, 3});
  x.set_ragged("boxes", std::vector<double>{1, 2, 3, 4}, {2});
}

/// Whether a sample made from the bytes is refused; any other exception fails the test.
bool is_refused(const std::string& bytes) {
  // In memory of its own, so that the address sanitizer detects reads beyond its end.
  const std::vector<char> held{bytes.begin(), bytes.end()};
  sample x;
  const auto why = cause_of([&] { set_fields(x, std::as_bytes(std::span{held})); });
  REQUIRE(why.value_or(cause::corrupt) == cause::corrupt);
  return why.has_value();
}

/// A number put in the place of another one.
std::string with(std::string bytes, std::size_t at, std::uint64_t number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
  return bytes;
}

// Where the parts of a field lie that is called "a", after the length and the byte of its name.
constexpr std::size_t kind = 9;
constexpr std::size_t rank = 17;
constexpr std::size_t extent = 25;

TEST_CASE("sample bytes: a sample comes back with its fields, their types, shapes and order") {
  sample original;
  fill(original);
  const auto bytes = bytes_of(original);
  sample x;
  set_fields(x, std::as_bytes(std::span{bytes}));
  REQUIRE(sample_access::fields(x) == sample_access::fields(original));
  for (const auto& name : original.fields())
    REQUIRE(x.text(name) == original.text(name));
  REQUIRE(x.get<std::int64_t>("label") == -7);
  REQUIRE(x.view<float, 2>("image")(1, 2) == 6.5F);
}

TEST_CASE("sample bytes: a sample without fields has no bytes") {
  sample x;
  REQUIRE(bytes_of(x).empty());
  set_fields(x, {});
  REQUIRE(x.fields().empty());
}

TEST_CASE("sample bytes: what is cut short is refused, except between fields") {
  sample x;
  fill(x);
  const auto bytes = bytes_of(x);
  std::size_t between = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    between += is_refused(bytes.substr(0, size)) ? 0 : 1;
  REQUIRE(between == 7);
}

TEST_CASE("sample bytes: a shape that does not fit its content is refused") {
  sample x;
  x.set<std::uint8_t>("a", std::array<std::uint8_t, 4>{}, shape{2, 2});
  const auto bytes = bytes_of(x);
  REQUIRE_FALSE(is_refused(with(bytes, extent, 2)));
  for (const std::uint64_t other : {std::uint64_t{3}, std::uint64_t{1} << 63})
    REQUIRE(is_refused(with(bytes, extent, other)));
  REQUIRE(is_refused(with(bytes, rank, 7)));
  for (const std::uint64_t other : {10, 256})
    REQUIRE(is_refused(with(bytes, kind, other)));
}

TEST_CASE("sample bytes: a ragged field that does not fit its content is refused") {
  sample x;
  x.set_ragged("a", std::vector<std::uint16_t>(6), {3});
  const auto bytes = bytes_of(x);
  REQUIRE_FALSE(is_refused(bytes));
  REQUIRE_FALSE(is_refused(with(bytes, extent, 2)));
  for (const std::uint64_t other : {std::uint64_t{4}, std::uint64_t{0}, std::uint64_t{1} << 63})
    REQUIRE(is_refused(with(bytes, extent, other)));
  REQUIRE(is_refused(with(bytes, rank, 6)));
  REQUIRE(is_refused(with(bytes, kind, 128 + 12)));
}

} // namespace
} // namespace leat::sample_bytes_test
