#include "runtime/sources/live/read_ahead.hpp"
#include "tests/support/catch.hpp"

namespace leat::read_ahead_test {
namespace {

TEST_CASE("read ahead: a source is read up to a number of records after the wanted one") {
  read_ahead ahead{{.records = 3, .bytes = 1000}, 0};
  ahead.want(0);
  for (std::uint64_t next = 1; next <= 4; ++next) {
    REQUIRE(ahead.wants_more());
    ahead.came(next, 1);
  }
  REQUIRE_FALSE(ahead.wants_more());
  ahead.want(1);
  REQUIRE(ahead.wants_more());
}

TEST_CASE("read ahead: a source is read up to a number of bytes after the wanted record") {
  read_ahead ahead{{.records = 100, .bytes = 10}, 0};
  ahead.want(0);
  ahead.came(1, 50);
  REQUIRE(ahead.wants_more());
  ahead.came(3, 6);
  REQUIRE(ahead.wants_more());
  ahead.came(4, 6);
  REQUIRE_FALSE(ahead.wants_more());
  ahead.want(1);
  REQUIRE_FALSE(ahead.wants_more());
  ahead.want(2);
  REQUIRE(ahead.wants_more());
}

TEST_CASE("read ahead: whatever is wanted is read, however large") {
  read_ahead ahead{{.records = 1, .bytes = 1}, 0};
  ahead.want(5);
  for (std::uint64_t next = 0; next <= 5; ++next) {
    ahead.came(next, 1000);
    REQUIRE(ahead.wants_more());
  }
}

TEST_CASE("read ahead: bytes without the end of their record count until the record is wanted") {
  read_ahead ahead{{.records = 100, .bytes = 10}, 1};
  ahead.want(0);
  REQUIRE(ahead.wants_more());
  ahead.came(1, 8);
  REQUIRE(ahead.wants_more());
  ahead.came(1, 8);
  REQUIRE_FALSE(ahead.wants_more());
  ahead.want(1);
  REQUIRE(ahead.wants_more());
}

TEST_CASE("read ahead: records of an earlier process count") {
  read_ahead ahead{{.records = 3, .bytes = 1000}, 10};
  ahead.want(6);
  REQUIRE_FALSE(ahead.wants_more());
  ahead.want(7);
  REQUIRE(ahead.wants_more());
}

} // namespace
} // namespace leat::read_ahead_test
