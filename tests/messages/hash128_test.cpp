#include "tests/support/test.hpp"

#include <leat/hash128.hpp>

namespace leat::hash128_test {
namespace {

TEST_CASE("hash128: it prints as 32 digits, the high half first, and reads back") {
  const hash128 x{.low = 0x0123456789abcdef, .high = 0xfe};
  CHECK(to_string(x) == "00000000000000fe0123456789abcdef");
  CHECK(parse_hash128(to_string(x)) == x);
  CHECK(to_string(hash128{}) == std::string(32, '0'));
}

TEST_CASE("hash128: anything but 32 digits is not a hash") {
  for (const char* text :
       {"", "0", "00000000000000fe0123456789abcde", "00000000000000fe0123456789abcdef0",
        "00000000000000fg0123456789abcdef", "-0000000000000fe0123456789abcdef",
        "0x000000000000fe0123456789abcdef", "00000000000000fe 123456789abcdef",
        "00000000000000fe0123456789abcde "}) {
    CAPTURE(text);
    CHECK_FALSE(parse_hash128(text));
  }
}

TEST_CASE("hash128: sums carry into the high half and wrap at 2^128") {
  constexpr auto ones = ~std::uint64_t{0};
  CHECK(hash128{ones, 0} + hash128{1, 0} == hash128{0, 1});
  CHECK(hash128{ones, ones} + hash128{1, 0} == hash128{0, 0});
  CHECK(hash128{ones, ones} + hash128{ones, ones} == hash128{ones - 1, ones});
  hash128 x{5, 7};
  x += x;
  CHECK(x == hash128{10, 14});
}

} // namespace
} // namespace leat::hash128_test
