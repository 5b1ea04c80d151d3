#include "runtime/sample/sample_access.hpp"
#include "tests/support/catch.hpp"

#include <leat/bad_sample.hpp>

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

std::string filled_bytes() {
  sample x;
  fill(x);
  return bytes_of(x);
}

/// Whether a sample made from the bytes is refused; any other exception fails the test.
bool is_refused(const std::string& bytes) {
  // In memory of its own, so that the address sanitizer detects reads beyond its end.
  const std::vector<char> held{bytes.begin(), bytes.end()};
  sample x;
  try {
    set_fields(x, std::as_bytes(std::span{held}));
  } catch (const bad_sample& problem) {
    REQUIRE(problem.why() == cause::corrupt);
    return true;
  }
  return false;
}

TEST_CASE("sample bytes: a sample comes back with its fields, their types, shapes and order") {
  const auto bytes = filled_bytes();
  sample x;
  set_fields(x, std::as_bytes(std::span{bytes}));
  sample original;
  fill(original);
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
  const auto bytes = filled_bytes();
  std::size_t between = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    between += is_refused(bytes.substr(0, size)) ? 0 : 1;
  REQUIRE(between == 7);
}

TEST_CASE("sample bytes: a shape that does not fit its content is refused") {
  sample x;
  x.set<std::uint8_t>("a", std::array<std::uint8_t, 4>{}, shape{2, 2});
  const auto bytes = bytes_of(x);
  // Length and byte of the name, kind, rank, two extents.
  constexpr std::size_t kind = 9;
  constexpr std::size_t rank = 17;
  constexpr std::size_t extent = 25;
  auto with = [&](std::size_t at, std::uint64_t number) {
    auto changed = bytes;
    std::memcpy(changed.data() + at, &number, sizeof number);
    return changed;
  };
  REQUIRE_FALSE(is_refused(with(extent, 2)));
  REQUIRE(is_refused(with(extent, 3)));
  REQUIRE(is_refused(with(extent, std::uint64_t{1} << 63)));
  REQUIRE(is_refused(with(rank, 7)));
  REQUIRE(is_refused(with(kind, 10)));
  REQUIRE(is_refused(with(kind, 256)));
}

TEST_CASE("sample bytes: a ragged field that does not fit its content is refused") {
  sample x;
  x.set_ragged("a", std::vector<std::uint16_t>(6), {3});
  const auto bytes = bytes_of(x);
  // Length and byte of the name, kind, rank, extent.
  constexpr std::size_t kind = 9;
  constexpr std::size_t rank = 17;
  constexpr std::size_t extent = 25;
  auto with = [&](std::size_t at, std::uint64_t number) {
    auto changed = bytes;
    std::memcpy(changed.data() + at, &number, sizeof number);
    return changed;
  };
  REQUIRE_FALSE(is_refused(bytes));
  REQUIRE_FALSE(is_refused(with(extent, 2)));
  REQUIRE(is_refused(with(extent, 4)));
  REQUIRE(is_refused(with(extent, 0)));
  REQUIRE(is_refused(with(extent, std::uint64_t{1} << 63)));
  REQUIRE(is_refused(with(rank, 6)));
  REQUIRE(is_refused(with(kind, 128 + 12)));
}

} // namespace
} // namespace leat::sample_bytes_test
