#include "tests/support/test.hpp"

#include <leat/order.hpp>

namespace leat::digest_test {
namespace {

TEST_CASE("digest: a row has the digest that docs/digest.md lists") {
  const std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string, const char*>> vectors{
      {0, 0, "", "e5189a9599e3f86205ea23ef06e28b2d"},
      {0, 0, "count/0", "6f4a31d91f0ceb49c0b5c485fa16b4c9"},
      {0, 1, "count/1", "dae6090379d4609b05068131d5853f0f"},
      {0, 2, "count/2", "dba554c3e7b190e7e91ccb593d3971fe"},
      {3, 1000, "train-000002.tar/n01440764_10026", "91074e4c2d5da08d4747ee75dc5ba525"},
      {1, 7, "klein/größe/☃.jpg", "db88abab7c569875fb18691a3190dcf2"},
      {~std::uint64_t{0}, std::uint64_t{1} << 63, "x", "16e33f1f03b536c6ea085d5ffeafdf9f"},
      {0, 1, std::string(224, 'a'), "5cdae2d2a8ad076d010b4aef5c715941"},
      {0, 1, std::string(225, 'a'), "254aff97288b22ff1f537f6513842ca6"},
      {0, 2, std::string(1000, 'b'), "6f5560a16e53f27a831d1851386a9a62"},
  };
  for (const auto& [epoch, position, id, digest] : vectors) {
    CAPTURE(epoch, position, id);
    CHECK(to_string(row_digest(epoch, position, id)) == digest);
  }
}

TEST_CASE("digest: rows add up to the sum that docs/digest.md gives, in any order") {
  hash128 up;
  hash128 down;
  for (std::uint64_t i = 0; i < 3; ++i) {
    up += row_digest(0, i, "count/" + std::to_string(i));
    down += row_digest(0, 2 - i, "count/" + std::to_string(2 - i));
  }
  CHECK(to_string(up) == "25d58fa08092dcccaed911110cd565d6");
  CHECK(up == down);
}

} // namespace
} // namespace leat::digest_test
