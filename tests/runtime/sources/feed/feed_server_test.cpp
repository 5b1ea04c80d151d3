#include "runtime/sources/feed/feed_server.hpp"
#include "tests/support/test.hpp"

#include <algorithm>

namespace leat::feed_server_test {
namespace {

feed_server feed_with(std::uint64_t records, bool has_journal = true, std::uint64_t memory = 1000) {
  return feed_server{{.stream = {"queue", {1, 2}}, .has_journal = has_journal, .next = records},
                     {.memory = memory}};
}

feed_want want_of(const lanes_of_rank& place, std::vector<std::uint64_t> covered) {
  return {.place = place, .covered = std::move(covered), .window = 100};
}

std::vector<std::uint64_t> all_for(feed_server& x, std::uint64_t link, std::uint64_t bytes) {
  std::vector<std::uint64_t> numbers;
  for (auto some = x.take_for(link, 1); !some.is_empty(); some = x.take_for(link, 1)) {
    for (const auto* from : {&some.urgent, &some.others})
      numbers.insert(numbers.end(), from->begin(), from->end());
    x.sent(link, 1, bytes);
  }
  return numbers;
}

TEST_CASE("feed_server: the source is read as far as some rank looks") {
  auto x = feed_with(0);
  x.join(1);
  x.join(2);
  CHECK(x.wanted() == 0);
  auto want = want_of({4, 2, 0}, {0, 0});
  want.looks_below = 5;
  REQUIRE(x.heard(1, want));
  want.place.rank = 1;
  want.looks_below = 3;
  REQUIRE(x.heard(2, want));
  CHECK(x.wanted() == 5);
  x.lost(1);
  CHECK(x.wanted() == 5);
}

TEST_CASE("feed_server: a record is forgotten once every lane is past it, whoever had the lane") {
  auto x = feed_with(100);
  x.join(1);
  x.join(2);
  REQUIRE(x.heard(1, want_of({4, 2, 0}, {40, 30})));
  CHECK(x.covered() == 0);
  REQUIRE(x.heard(2, want_of({4, 2, 1}, {20, 50})));
  CHECK(x.covered() == 20);
  // After a restart of all ranks, with another world size, what was stated stays true.
  x.lost(1);
  x.lost(2);
  x.join(3);
  REQUIRE(x.heard(3, want_of({4, 4, 1}, {25})));
  CHECK(x.covered() == 25);
  x.join(4);
  REQUIRE(x.heard(4, want_of({4, 4, 1}, {0})));
  CHECK(x.covered() == 25);
}

TEST_CASE("feed_server: nothing is covered that has not come") {
  auto x = feed_with(10);
  x.join(1);
  REQUIRE(x.heard(1, want_of({1, 1, 0}, {500})));
  CHECK(x.covered() == 10);
}

TEST_CASE("feed_server: a window bounds what is under way, but not what is urgent") {
  auto x = feed_with(20);
  x.join(1);
  auto want = want_of({1, 1, 0}, {0});
  want.fetch = {3, 4, 5, 6, 7, 8, 9};
  REQUIRE(x.heard(1, want));
  CHECK(all_for(x, 1, 40) == std::vector<std::uint64_t>{3, 4, 5}); // 80 is below 100
  want.fetch = {};
  want.urgent = {9, 4}; // 4 is under way
  REQUIRE(x.heard(1, want));
  CHECK(all_for(x, 1, 40) == std::vector<std::uint64_t>{9});
  want.urgent = {};
  want.used = 80;
  REQUIRE(x.heard(1, want));
  CHECK(all_for(x, 1, 40) == std::vector<std::uint64_t>{6});
  want.used = 200;
  REQUIRE(x.heard(1, want));
  CHECK(all_for(x, 1, 1) == std::vector<std::uint64_t>{7, 8});
}

TEST_CASE("feed_server: what was taken and not sent goes next") {
  auto x = feed_with(20);
  x.join(1);
  auto want = want_of({1, 1, 0}, {0});
  want.fetch = {1, 2, 3, 4, 5, 6};
  want.urgent = {5, 6};
  REQUIRE(x.heard(1, want));
  auto some = x.take_for(1, 5);
  CHECK(some.urgent == std::vector<std::uint64_t>{5, 6});
  CHECK(some.others == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(some.room == 100);
  x.sent(1, 2, 30, {.urgent = {6}, .others = {2, 3}}); // 5 and 1
  some = x.take_for(1, 10);
  CHECK(some.urgent == std::vector<std::uint64_t>{6});
  CHECK(some.others == std::vector<std::uint64_t>{2, 3, 4});
  CHECK(some.room == 70);
}

TEST_CASE("feed_server: what becomes urgent while it is looked for needs no room afterwards") {
  auto x = feed_with(20);
  x.join(1);
  auto want = want_of({1, 1, 0}, {0});
  want.fetch = {1, 2, 3, 4, 5};
  REQUIRE(x.heard(1, want));
  CHECK(x.take_for(1, 4).others == std::vector<std::uint64_t>{1, 2, 3, 4});
  want.fetch = {};
  want.urgent = {1, 3, 5}; // 1 is sent, 3 is not
  REQUIRE(x.heard(1, want));
  x.sent(1, 1, 200, {.others = {2, 3, 4}});
  auto some = x.take_for(1, 10);
  CHECK(some.room == 0);
  CHECK(some.urgent == std::vector<std::uint64_t>{5, 3});
  CHECK(some.others.empty());
  x.sent(1, 2, 0);
  want.urgent = {};
  want.used = 200;
  REQUIRE(x.heard(1, want));
  CHECK(x.take_for(1, 10).others == std::vector<std::uint64_t>{2, 4});
}

TEST_CASE("feed_server: a record larger than the window goes when nothing else is under way") {
  auto x = feed_with(20);
  x.join(1);
  auto want = want_of({1, 1, 0}, {0});
  want.fetch = {1, 2};
  REQUIRE(x.heard(1, want));
  CHECK(all_for(x, 1, 5000) == std::vector<std::uint64_t>{1});
  want.fetch = {};
  want.used = 5000;
  REQUIRE(x.heard(1, want));
  CHECK(all_for(x, 1, 5000) == std::vector<std::uint64_t>{2});
}

TEST_CASE("feed_server: what no rank says gets its link cut, and changes nothing") {
  auto x = feed_with(20);
  x.join(1);
  x.join(2);
  const auto good = want_of({4, 2, 0}, {0, 0});
  REQUIRE(x.heard(1, good));
  const auto is_refused = [&](auto change) {
    auto bad = good;
    change(bad);
    bad.looks_below = 1000;
    const bool is_cut = !x.heard(1, bad);
    return is_cut && x.wanted() == 0;
  };
  CHECK(is_refused([](feed_want& w) { w.used = 1; }));       // of what was never sent
  CHECK(is_refused([](feed_want& w) { w.fetch = {20}; }));   // was not offered
  CHECK(is_refused([](feed_want& w) { w.place.rank = 1; })); // was another rank before
  CHECK(is_refused([](feed_want& w) { w.fetch.assign((1 << 20) + 1, 0); }));
  CHECK_FALSE(x.heard(2, want_of({5, 5, 0}, {0}))); // of a job with other lanes
  CHECK(x.heard(9, good));                          // a link that was lost
}

TEST_CASE("feed_server: a rank hears what is new, once, and that a record is gone") {
  auto x = feed_with(20);
  x.join(1);
  CHECK(x.take_offer(1)->next == 20);
  CHECK_FALSE(x.take_offer(1));
  x.came(25, 100);
  CHECK(x.take_offer(1)->next == 25);
  x.forgot(7);
  CHECK_FALSE(x.take_offer(1)); // nobody waits for that
  auto want = want_of({1, 1, 0}, {0});
  want.fetch = {6, 8};
  REQUIRE(x.heard(1, want));
  CHECK(x.take_offer(1)->first == 7);
  x.forgot(9); // while it was queued
  CHECK(x.take_for(1, 10).is_empty());
  CHECK(x.take_offer(1)->first == 9);
  x.ended();
  CHECK(x.take_offer(1)->has_ended);
  x.failed("why");
  x.failed("another");
  CHECK(x.take_offer(1)->failure == "why");
  CHECK_FALSE(x.take_offer(1));
}

TEST_CASE("feed_server: what records cost is told with what else there is, and now and then") {
  auto x = feed_with(20);
  x.join(1);
  CHECK(x.take_offer(1)->costs == feed_costs{});
  auto want = want_of({1, 1, 0}, {0});
  want.fetch = {6, 8};
  REQUIRE(x.heard(1, want));
  CHECK(all_for(x, 1, 10).size() == 2);
  x.spent(std::chrono::nanoseconds{5}, std::chrono::nanoseconds{7});
  x.spent({}, std::chrono::nanoseconds{1});
  CHECK_FALSE(x.take_offer(1));
  const feed_costs all{.records_sent = 2, .bytes_sent = 20, .reading_ns = 5, .sending_ns = 8};
  CHECK(x.take_offer(1, true)->costs == all);
  CHECK(x.take_offer(1, true)->costs == all);
  x.came(21, 100);
  CHECK(x.take_offer(1)->costs == all);
  CHECK_FALSE(x.take_offer(2, true)); // there is no such link
}

TEST_CASE("feed_server: a rank hears that a record went while it was looked for") {
  auto x = feed_with(20);
  x.join(1);
  auto want = want_of({1, 1, 0}, {0});
  want.fetch = {6};
  REQUIRE(x.heard(1, want));
  CHECK(x.take_offer(1)->first == 0);
  CHECK(x.take_for(1, 10).others == std::vector<std::uint64_t>{6});
  x.released(1, 8); // the store says so first
  CHECK(x.take_offer(1)->first == 8);
  CHECK_FALSE(x.take_offer(1));
  x.released(2, 9); // a link that was lost
  CHECK(x.state().first == 9);
}

TEST_CASE("feed_server: a rank hears only of records of its own lanes, and at the end of all") {
  auto x = feed_with(0);
  using links = std::vector<std::uint64_t>;
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    x.join(rank + 1);
    CHECK(x.take_offer(rank + 1));
    REQUIRE(x.heard(rank + 1, want_of({4, 4, rank}, {0})));
  }
  x.came(1, 10);
  CHECK(x.take_news() == links{1});
  x.came(3, 10);
  CHECK(x.take_news() == links{2, 3});
  CHECK_FALSE(x.take_offer(4));
  CHECK(x.take_offer(1)->next == 3);
  CHECK(x.take_offer(2)->next == 3);
  x.came(5, 10);
  CHECK(x.take_news() == links{4, 1});
  CHECK_FALSE(x.take_offer(2));
  CHECK(x.take_offer(1)->next == 5);
  x.lost(4);
  x.came(8, 10);
  x.ended();
  CHECK(x.take_news() == links{1, 2, 3});
  for (const std::uint64_t link : {1, 2, 3}) {
    const auto told = x.take_offer(link);
    REQUIRE(told);
    CHECK(told->has_ended);
    CHECK(told->next == 8);
  }
}

TEST_CASE("feed_server: news that nobody takes do not add up") {
  auto x = feed_with(0);
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    x.join(rank + 1);
    REQUIRE(x.heard(rank + 1, want_of({4, 4, rank}, {0})));
  }
  for (std::uint64_t next = 1; next <= 1000; ++next)
    x.came(next, 10);
  const auto news = x.take_news();
  CHECK(news.size() < 2 * 4);
  for (const std::uint64_t link : {1, 2, 3, 4})
    CHECK(std::count(news.begin(), news.end(), link) > 0);
}

TEST_CASE("feed_server: links of another world size hear of their records, too") {
  auto x = feed_with(0);
  x.join(1);
  x.join(2);
  x.join(3);
  REQUIRE(x.heard(1, want_of({4, 4, 3}, {0})));
  REQUIRE(x.heard(2, want_of({4, 2, 1}, {0, 0})));
  REQUIRE(x.heard(3, want_of({4, 4, 0}, {0})));
  x.came(1, 10);
  CHECK(x.take_news() == std::vector<std::uint64_t>{3});
  x.came(2, 10);
  CHECK(x.take_news() == std::vector<std::uint64_t>{2});
  x.came(4, 10);
  CHECK(x.take_news() == std::vector<std::uint64_t>{2, 1});
}

TEST_CASE("feed_server: a rank that waits for a record of another's lane hears that it came") {
  auto x = feed_with(0);
  x.join(1);
  x.join(2);
  CHECK(x.take_offer(1));
  CHECK(x.take_offer(2));
  auto want = want_of({2, 2, 1}, {0});
  want.looks_below = 1;
  want.is_starved = true;
  REQUIRE(x.heard(1, want));
  want.place.rank = 0;
  want.is_starved = false;
  REQUIRE(x.heard(2, want));
  CHECK_FALSE(x.take_offer(1));
  x.came(1, 10);
  CHECK(x.take_news() == std::vector<std::uint64_t>{2, 1});
  CHECK(x.take_offer(1)->next == 1);
  CHECK_FALSE(x.take_offer(1));
  x.came(2, 10);
  CHECK(x.take_news() == std::vector<std::uint64_t>{1});
  x.lost(1);
  x.came(3, 10);
  CHECK(x.take_news() == std::vector<std::uint64_t>{2});
}

TEST_CASE("feed_server: without a journal a full memory stops the reading, and says for whom") {
  auto x = feed_with(0, false, 100);
  x.join(1);
  auto want = want_of({2, 1, 0}, {0, 0});
  want.looks_below = 50;
  REQUIRE(x.heard(1, want));
  x.came(4, 60);
  CHECK(x.wanted() == 50);
  x.came(6, 60);
  CHECK(x.held_back().empty()); // nobody has to wait yet
  want.looks_below = 70;
  want.covered = {40, 2};
  want.is_starved = true;
  REQUIRE(x.heard(1, want));
  CHECK(has(x.held_back(), "a rank waits for record 6"));
  CHECK(has(x.held_back(), "lane 1 of 2"));
  CHECK(x.wanted() == 50); // however far ranks look meanwhile
  x.forgot(x.covered());
  CHECK(has(x.held_back(), "120 bytes")); // they came together
  want.covered = {40, 4};
  REQUIRE(x.heard(1, want));
  x.forgot(x.covered());
  CHECK(x.wanted() == 70);
  CHECK(x.held_back().empty());
  auto journaled = feed_with(0, true, 100);
  journaled.join(1);
  REQUIRE(journaled.heard(1, want));
  journaled.came(6, 1000);
  CHECK(journaled.wanted() == 70);
}

} // namespace
} // namespace leat::feed_server_test
