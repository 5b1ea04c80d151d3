#include "runtime/sources/index_sections.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/seal_index.hpp"
#include "tests/support/temporary_directory.hpp"

#include <cstring>

namespace leat::index_sections_test {

namespace {

using bytes = std::vector<std::byte>;

constexpr hash128 subject{.low = 7, .high = 4};

bytes bytes_of(std::string_view text) {
  const auto all = std::as_bytes(std::span{text.data(), text.size()});
  return {all.begin(), all.end()};
}

/// An index with a section of five bytes, an empty one, and one of two pieces that is read on use.
bytes some_index() {
  index_writer to{subject};
  to.hold("text", "hello");
  to.hold("none", "");
  to.leave("rows", std::vector{bytes_of("abc"), bytes_of("de")});
  return std::move(to).finish();
}

std::optional<index_sections> adopt(const bytes& of, const hash128& of_subject = subject) {
  return index_sections::adopt(test::held(of), of_subject);
}

std::string read(const index_tail& x) {
  bytes all(static_cast<std::size_t>(x.size()));
  REQUIRE(x.read(0, all));
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

/// All content of an index as text; empty if it is not an index.
std::string describe(const std::optional<index_sections>& x) {
  if (!x)
    return "";
  std::string all;
  for (const auto* name : {"text", "none"})
    all += std::string{name} + "=" + std::string{x->text(name).value_or("?")} + " ";
  return all + "rows=" + read(x->at_use("rows"));
}

const std::string whole = "text=hello none= rows=abcde";

} // namespace

TEST_CASE("an index gives its sections back, from memory and from a file") {
  const auto index = some_index();
  CHECK(describe(adopt(index)) == whole);
  test::temporary_directory dir;
  REQUIRE(store_index({dir / "x"}, index));
  CHECK(describe(index_sections::load(dir / "x", subject)) == whole);
}

TEST_CASE("an index of another subject is none") {
  CHECK_FALSE(adopt(some_index(), {.low = 8, .high = 4}));
}

TEST_CASE("an index whose names are not known is read all the same") {
  index_writer to{subject};
  to.hold("newer", "a held section that nobody here knows");
  to.hold("text", "hello");
  to.hold("none", "");
  to.leave("rows", std::vector<bytes>{bytes_of("abcde")});
  to.leave("newest", std::vector<bytes>{bytes_of("another one")});
  const auto index = adopt(std::move(to).finish());
  CHECK(describe(index) == whole);
  CHECK(index.value().has("newest"));
}

TEST_CASE("what is not there, or is no array of such elements, is nothing") {
  const auto index = adopt(some_index()).value();
  CHECK_FALSE(index.has("fields"));
  CHECK_FALSE(index.held("fields"));
  CHECK(index.at_use("fields").size() == 0);
  CHECK_FALSE(index.held("rows"));
  CHECK_FALSE(index.array<std::uint16_t>("text"));
  CHECK(index.array<char>("text").value().size() == 5);
  CHECK(index.array<std::uint64_t>("none").value().empty());
}

TEST_CASE("a changed byte is never believed, in whatever part of an index it is") {
  const auto index = some_index();
  const auto rows = index.size() - 8;
  for (std::size_t i = 0; i < rows; ++i) {
    CAPTURE(i);
    auto bad = index;
    bad[i] ^= std::byte{0x41};
    const auto found = adopt(bad);
    if (found) // damaged sections are found one by one
      CHECK((!found->held("text") || !found->held("none")));
    CHECK_FALSE(adopt(bytes{index.begin(), index.begin() + static_cast<std::ptrdiff_t>(i)}));
  }
  auto longer = index;
  longer.push_back({});
  CHECK_FALSE(adopt(longer));
}

TEST_CASE("an index that lies about its sections is refused, though its checksums are right") {
  const auto right = some_index();
  const std::size_t held_at = 32;
  const std::size_t table = 40;
  const auto forged = [&](std::size_t at, std::uint64_t value) {
    auto x = right;
    std::memcpy(x.data() + at, &value, sizeof value);
    test::seal_index(x, right);
    return adopt(x);
  };
  std::uint64_t held = 0;
  std::memcpy(&held, right.data() + held_at, sizeof held);
  CHECK(forged(held_at, held)); // nothing changed
  for (const std::uint64_t x : {std::uint64_t{0}, held - 8, held + 1, held + 7,
                                std::uint64_t{right.size()} + 1, ~std::uint64_t{0}}) {
    CAPTURE(x);
    const auto found = forged(held_at, x);
    if (found)
      CHECK((!found->held("text") || !found->held("none") || !found->has("rows")));
  }
  for (std::size_t section = 0; section < 3; ++section)
    for (const std::size_t part : {8, 16}) // begin, and bytes
      for (const std::uint64_t x :
           {std::uint64_t{1}, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
        CAPTURE(section, part, x);
        const auto found = forged(table + section * 32 + part, x);
        // One byte instead of several, with zeros after it, takes the same room.
        CHECK((!found || (part == 16 && x == 1)));
      }
}

} // namespace leat::index_sections_test
