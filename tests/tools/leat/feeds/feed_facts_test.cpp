#include "tests/support/catch.hpp"

#include "tools/leat/feeds/feed_facts.hpp"

namespace leat::command::feed_facts_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using lines = std::vector<std::string>;

feed_stats queue() {
  return {.name = "queue",
          .at = "10.0.0.5:4242",
          .has_journal = true,
          .records_read = 12'000,
          .reached = 11'960,
          .lag = 40,
          .needed_from = 11'488,
          .records_taken = 3000,
          .records_received = 3010,
          .bytes_received = 7'200'000,
          .wire_bytes = 7'224'000,
          .starved = milliseconds{720},
          .fetching = milliseconds{18},
          .waited = milliseconds{30},
          .processor = microseconds{6020},
          .records_sent = 12'000,
          .bytes_sent = 28'800'000,
          .reading = milliseconds{50},
          .sending = milliseconds{36}};
}

TEST_CASE("feed facts: a summary says where a feed is, what records cost, and who waited") {
  CHECK(feed_lines(queue(), seconds{6})
        == lines{"queue at 10.0.0.5:4242: has given 12,000 records; 3,000 were taken here, lag 40, "
                 "needed from record 11,488 on",
                 "3,010 came here: 502 records and 1.2 MB per second, each 1.00 times, for 2.4 kB "
                 "and 2.0 us of a processor here, 3.0 us there",
                 "waited for its source 12.0% of the time, for records on their way 0.3%"});
}

TEST_CASE("feed facts: one that nobody serves, and that has given nothing, has its lines, too") {
  CHECK(feed_lines({.name = "queue"}, seconds{0})
        == lines{"queue, which nobody serves now: has given 0 records; 0 were taken here, lag 0, "
                 "needed from record 0 on",
                 "0 came here: 0 records and 0 bytes per second",
                 "waited for its source 0.0% of the time, for records on their way 0.0%"});
  auto ended = queue();
  ended.has_ended = true;
  CHECK(feed_lines(ended, seconds{6}).front().find("12,000 records, all there are;")
        != std::string::npos);
}

TEST_CASE("feed facts: counts are those since the job began, and places are as they are now") {
  loader_stats rank;
  CHECK(feeds_of({rank}).empty());
  rank.feeds = {queue()};
  auto later = queue();
  later.records_read = 13'000;
  later.records_received += 100;
  later.waited += seconds{2};
  later.records_sent += 5;
  const auto found = feeds_since(feeds_of({rank}), {later});
  REQUIRE(found.size() == 1);
  CHECK(found.front().records_read == 13'000);
  CHECK(found.front().records_received == 100);
  CHECK(found.front().bytes_received == 0);
  CHECK(found.front().waited == seconds{2});
  CHECK(found.front().records_sent == 12'005);
  CHECK(feeds_since({}, {later}).front().records_received == 3110);
}

TEST_CASE("feed facts: JSON has the same members whatever is known") {
  const auto full = feeds_to_json({queue()}, seconds{6}).at(0);
  CHECK(full.at("at") == "10.0.0.5:4242");
  CHECK(full.at("lag") == 40);
  CHECK(full.at("bytes_per_second") == 1'200'000);
  CHECK(full.at("times_fetched") == 3010.0 / 3000);
  CHECK(full.at("starved_seconds") == 0.72);
  CHECK(full.at("sending_seconds") == 0.036);
  const auto empty = feeds_to_json({feed_stats{}}, seconds{0}).at(0);
  CHECK(empty.size() == full.size());
  for (const auto& [name, value] : full.items())
    CHECK(empty.contains(name));
  CHECK(empty.at("at").is_null());
  CHECK(empty.at("times_fetched").is_null());
  CHECK(feeds_to_json({}, seconds{6}) == nlohmann::json::array());
}

} // namespace
} // namespace leat::command::feed_facts_test
