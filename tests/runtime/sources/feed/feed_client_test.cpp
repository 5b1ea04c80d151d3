#include "runtime/sources/feed/feed_client.hpp"
#include "tests/support/test.hpp"

#include <algorithm>

namespace leat::feed_client_test {
namespace {

using state = live_source::state;
using numbers = std::vector<std::uint64_t>;

feed_offer offer_of(std::uint64_t next, std::uint64_t first = 0) {
  return {.stream = {"queue", {1, 2}}, .has_journal = true, .first = first, .next = next};
}

/// A client with a link, which has heard that there are 100 records.
feed_client linked_client(std::uint64_t window = 1000) {
  feed_client x{"queue", window, {4, 2, 0}};
  x.linked();
  x.heard(offer_of(100));
  return x;
}

numbers fetched(feed_client& x) {
  const auto want = x.take_want();
  return want ? want->fetch : numbers{};
}

bool gets(feed_client& x, std::uint64_t number, std::size_t bytes) {
  const std::string content(bytes, 'x');
  return x.receive(number, fetched_records::kept(content, nullptr));
}

TEST_CASE("feed_client: iterators see numbers as they come, and the end once it is known") {
  feed_client x{"queue", 1000, {4, 2, 0}};
  CHECK(x.look(0) == state::pending);
  x.linked();
  auto offer = offer_of(3);
  x.heard(offer);
  CHECK(x.look(2) == state::ready);
  CHECK(x.look(4) == state::pending);
  CHECK(x.take_want()->looks_below == 5);
  offer.has_ended = true;
  x.heard(offer);
  CHECK(x.look(4) == state::ended);
  CHECK(x.look(0) == state::ready);
  CHECK(x.failure().empty());
}

TEST_CASE("feed_client: a record that is needed is fetched once, and goes when it is dropped") {
  auto x = linked_client();
  for (const std::uint64_t number : {4, 8, 8, 6})
    x.records().need(number);
  CHECK(fetched(x) == numbers{4, 6, 8});
  CHECK(fetched(x).empty());
  CHECK(gets(x, 8, 20));
  CHECK(gets(x, 4, 10));
  CHECK(x.records().find(8)->size() == 20);
  CHECK(x.records().find(6) == nullptr);
  x.records().drop(4);
  CHECK(x.records().find(4) == nullptr);
  CHECK(x.records().bytes_held() == 20);
  x.cover(9, 0); // 8 is of lane 0, 6 of lane 2
  CHECK(x.records().bytes_held() == 0);
  CHECK(x.take_want(true)->used == 30);
  CHECK(gets(x, 6, 5));
  CHECK(x.records().find(6)->size() == 5);
  x.records().need(4); // once more
  CHECK(fetched(x) == numbers{4});
}

TEST_CASE("feed_client: what a rank needs of other ranks' lanes comes as well") {
  auto x = linked_client();
  x.records().need(5);
  x.records().await(5);
  x.records().need(4);
  const auto want = x.take_want();
  REQUIRE(want);
  CHECK(want->fetch == numbers{5, 4});
  CHECK(want->urgent == numbers{5});
  CHECK(gets(x, 5, 10));
  CHECK(x.records().find(5)->size() == 10);
  CHECK(x.records().find(4) == nullptr);
  x.records().drop(5);
  CHECK(x.records().find(5) == nullptr);
  CHECK(x.records().bytes_held() == 0);
}

TEST_CASE("fetched_records: all ranks together have a place for each record, in order") {
  for (const std::uint64_t world : {1, 2, 3, 5})
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      CAPTURE(world, rank);
      fetched_records x{{.lanes = 5, .world_size = world, .rank = rank}};
      numbers own;
      for (std::uint64_t number = 100; number < 160; ++number)
        if (number % 5 % world == rank)
          own.push_back(number);
      for (auto number = own.rbegin(); number != own.rend(); ++number)
        x.need(*number);
      CHECK(x.take_unasked(1000, 1000) == own);
      for (const auto number : own) {
        x.put(number, fetched_records::kept(std::to_string(number), nullptr));
        CHECK(*x.find(number) == std::to_string(number));
      }
      for (auto lane = rank; lane < 5; lane += world)
        x.drop_below(130 + lane, lane);
      for (const auto number : own)
        CHECK((x.find(number) != nullptr) == (number >= 130 + number % 5));
      for (auto lane = rank; lane < 5; lane += world)
        x.drop_below(1000, lane);
      CHECK(x.bytes_held() == 0);
      x.need(own.front()); // it may be far before those that came last
      CHECK(x.take_unasked(1000, 1000) == numbers{own.front()});
    }
}

TEST_CASE("fetched_records: as many are asked for as are under way, or more, not one by one") {
  fetched_records x{{.lanes = 1}};
  const auto need = [&](std::uint64_t first, std::uint64_t last) {
    for (auto number = first; number <= last; ++number)
      x.need(number);
  };
  const auto come = [&](std::uint64_t number) {
    x.put(number, fetched_records::kept("content", nullptr));
  };
  need(0, 0);
  CHECK(x.take_unasked(1000, 1000) == numbers{0}); // whoever waits for one does not wait for more
  need(1, 4);
  CHECK(x.take_unasked(1000, 1000) == numbers{1, 2, 3, 4});
  need(5, 8);
  CHECK(x.take_unasked(1000, 1000) == numbers{}); // five are under way
  x.await(7);
  CHECK(x.take_unasked(1000, 1000) == numbers{7});
  for (std::uint64_t number = 0; number < 2; ++number)
    come(number);
  CHECK(x.take_unasked(1000, 1000) == numbers{}); // four are
  come(2);
  CHECK(x.take_unasked(1000, 1000) == numbers{5, 6, 8});
}

TEST_CASE("feed_client: a feed is not told to begin with a journal that never was") {
  CHECK(has(text_of_others("queue", true), "begin it with the journal of that feed"));
  CHECK_FALSE(has(text_of_others("queue", false), "begin it with"));
  CHECK(has(text_of_others("queue", false), "its records are lost"));
}

TEST_CASE("fetched_records: lanes may be as far apart as they like") {
  constexpr auto far = std::uint64_t{1} << 41;
  fetched_records x{{.lanes = 3}};
  numbers needed;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    needed.push_back(3 * i);
    needed.push_back(far + 3 * i + (1 - far % 3 + 3) % 3); // of lane 1
  }
  std::sort(needed.begin(), needed.end());
  for (auto number = needed.rbegin(); number != needed.rend(); ++number)
    x.need(*number);
  CHECK(x.take_unasked(2 * far, 10'000) == needed);
  x.relink();
  CHECK(x.take_unasked(2 * far, 10'000) == needed);
  CHECK(x.missing_below(2 * far) == 0);
  for (const auto number : needed)
    x.put(number, fetched_records::kept("content", nullptr));
  CHECK(x.missing_below(2 * far) == std::nullopt);
  x.drop_below(2 * far, 2); // which has none
  CHECK(x.bytes_held() == 7 * needed.size());
  x.drop_below(3 * 2999 + 1, 0);
  CHECK(x.bytes_held() == 7 * 3000);
  CHECK(x.find(needed[3000]) != nullptr);
  x.drop_below(needed[3010], 1);
  CHECK(x.find(needed[3009]) == nullptr);
  CHECK(x.find(needed[3010]) != nullptr);
  x.drop_below(2 * far, 1);
  CHECK(x.bytes_held() == 0);
  x.need(needed.front());
  CHECK(x.take_unasked(2 * far, 10'000) == numbers{needed.front()});
}

TEST_CASE("feed_client: however many records are looked at, a part of them is asked for at a time, "
          "and what workers wait for with it") {
  const std::uint64_t all = 150'000;
  feed_client x{"queue", std::uint64_t{1} << 30, {1, 1, 0}};
  x.linked();
  x.heard(offer_of(all));
  for (std::uint64_t number = 0; number < all; ++number)
    x.records().need(number);
  auto asked = fetched(x);
  CHECK(asked.size() >= 1000);
  CHECK(asked.size() < 70'000);
  x.records().await(all - 1);
  const auto hurried = x.take_want();
  REQUIRE(hurried);
  CHECK(hurried->fetch == numbers{all - 1});
  CHECK(hurried->urgent == numbers{all - 1});
  asked.push_back(all - 1);
  std::size_t most = 0;
  std::size_t wants = 0;
  for (std::size_t came = 0; came < asked.size(); ++came) {
    REQUIRE(gets(x, asked[came], 1));
    const auto more = fetched(x);
    wants += more.empty() ? 0 : 1;
    asked.insert(asked.end(), more.begin(), more.end());
    most = std::max(most, asked.size() - came);
  }
  CHECK(most < 70'000);
  CHECK(wants < 100); // not one by one
  std::sort(asked.begin(), asked.end());
  REQUIRE(asked.size() == all);
  for (std::uint64_t number = 0; number < all; ++number)
    REQUIRE(asked[number] == number);
}

TEST_CASE("feed_client: what comes for nobody is dropped, and what was not asked for is refused") {
  auto x = linked_client();
  CHECK_FALSE(gets(x, 4, 10));
  x.records().need(4);
  CHECK_FALSE(gets(x, 4, 10));
  CHECK(fetched(x) == numbers{4});
  x.records().drop(4);
  CHECK(gets(x, 4, 10));
  CHECK(x.records().bytes_held() == 0);
  CHECK(x.take_want(true)->used == 10);
  CHECK_FALSE(gets(x, 4, 10));
}

TEST_CASE("feed_client: what was asked for, dropped and then released is not waited for") {
  auto x = linked_client();
  for (const std::uint64_t number : {4, 8, 6})
    x.records().need(number);
  CHECK(fetched(x) == numbers{4, 6, 8});
  x.cover(9, 0); // 4 and 8
  CHECK(gets(x, 6, 10));
  CHECK(x.records().is_waiting()); // they may be under way
  x.heard(offer_of(100, 5));
  CHECK(x.records().is_waiting());
  CHECK(gets(x, 8, 10));
  CHECK_FALSE(x.records().is_waiting());
  CHECK_FALSE(gets(x, 4, 10));
  CHECK(x.failure().empty());
}

TEST_CASE("feed_client: what was urgent, dropped and needed again may come") {
  auto x = linked_client(100);
  for (const std::uint64_t number : {4, 8})
    x.records().need(number);
  x.records().await(8);
  CHECK(x.take_want()->urgent == numbers{8});
  x.records().drop(8);
  CHECK(gets(x, 4, 100));
  x.records().need(8); // is to be asked for once more
  CHECK(gets(x, 8, 10));
  CHECK(x.records().find(8)->size() == 10);
  CHECK_FALSE(x.records().is_waiting());
}

TEST_CASE("feed_client: a feed that sends beyond the window is refused, unless it had to") {
  auto x = linked_client(100);
  for (const std::uint64_t number : {4, 8, 12})
    x.records().need(number);
  CHECK(fetched(x) == numbers{4, 8, 12});
  CHECK(gets(x, 12, 99));
  CHECK(gets(x, 8, 50)); // the last may exceed it
  CHECK_FALSE(gets(x, 4, 1));
  const auto want = x.take_want();
  REQUIRE(want);
  CHECK(want->urgent == numbers{4});
  CHECK(gets(x, 4, 70));
  CHECK(x.records().find(4) != nullptr);
}

TEST_CASE("feed_client: only the first record is urgent, and what is awaited") {
  auto x = linked_client(100);
  for (const std::uint64_t number : {0, 4, 8, 12})
    x.records().need(number);
  CHECK(x.take_want()->urgent.empty());
  CHECK(gets(x, 0, 200));
  // The first one is here: dropping it makes room for the others.
  CHECK_FALSE(x.take_want());
  x.records().await(12);
  const auto want = x.take_want();
  CHECK(want->fetch.empty());
  CHECK(want->urgent == numbers{12});
  CHECK(gets(x, 12, 10));
  x.records().drop(12);
  x.records().drop(0);
  const auto room = x.take_want();
  REQUIRE(room);
  CHECK(room->used == 210);
  CHECK(room->urgent.empty());
}

TEST_CASE(
    "feed_client: a new link is asked for what has not come, within what is left of the window") {
  auto x = linked_client(100);
  x.records().need(0);
  x.records().need(4);
  CHECK(fetched(x) == numbers{0, 4});
  CHECK(gets(x, 0, 60));
  x.unlinked();
  CHECK_FALSE(x.take_want(true));
  CHECK_FALSE(gets(x, 4, 10));
  x.linked();
  const auto before = x.take_want();
  REQUIRE(before);
  CHECK(before->fetch.empty()); // not before it has said what it has
  CHECK(before->window == 40);
  x.heard(offer_of(100));
  CHECK(fetched(x) == numbers{4});
  x.records().drop(0);
  const auto after = x.take_want();
  REQUIRE(after);
  CHECK(after->window == 100);
  CHECK(after->used == 0);
}

TEST_CASE("feed_client: another feed is refused, and so is another process with other records") {
  auto x = linked_client();
  auto other = offer_of(100);
  CHECK(x.refusal_of(other).empty());
  other.stream.name = "socket";
  CHECK(has(x.refusal_of(other), "this is feed \"socket\", needed \"queue\""));
  other = offer_of(100);
  other.stream.id.low = 9;
  CHECK(has(x.refusal_of(other), "another process serves feed \"queue\""));
  x.unlinked();
  CHECK(has(x.refusal_of(other), "another process serves feed \"queue\""));
  CHECK(x.failure().empty());
}

TEST_CASE("feed_client: records that are lost with a process that had no journal are an error") {
  feed_client x{"queue", 100, {1, 1, 0}};
  x.linked();
  auto offer = offer_of(10);
  offer.has_journal = false;
  x.heard(offer);
  auto other = offer;
  other.stream.id.low = 9;
  CHECK_FALSE(x.refusal_of(other).empty()); // as long as the first one is there
  x.unlinked();
  CHECK(x.refusal_of(other).empty());
  x.linked();
  x.heard(other);
  CHECK(has(x.failure(), "feed \"queue\": the process that served it has ended"));
}

TEST_CASE("feed_client: what another rank knows of the stream counts before it is heard") {
  feed_client x{"queue", 100, {1, 1, 0}};
  x.expect({.id = {9, 9}, .has_journal = false});
  CHECK(x.refusal_of(offer_of(10)).empty());
  x.linked();
  x.heard(offer_of(10));
  CHECK(has(x.failure(), "its records are lost"));
}

TEST_CASE("feed_client: a journal that has lost records, or its end, is an error") {
  const auto failure_of = [](const feed_offer& first, std::uint64_t looked,
                             const feed_offer& next) {
    feed_client x{"queue", 100, {1, 1, 0}};
    x.linked();
    x.heard(first);
    x.look(looked);
    x.linked();
    x.heard(next);
    return x.failure();
  };
  CHECK(failure_of(offer_of(10), 5, offer_of(6)).empty()); // nobody has relied on the others
  CHECK(has(failure_of(offer_of(10), 5, offer_of(5)), "it has 5 records, and had at least 6"));
  auto ended = offer_of(10);
  ended.has_ended = true;
  CHECK(failure_of(ended, 5, ended).empty());
  CHECK(has(failure_of(ended, 5, offer_of(10)), "it had ended after 10 records"));
  auto failed = offer_of(10);
  failed.failure = "no more room";
  CHECK(failure_of(offer_of(10), 5, failed) == "feed \"queue\": no more room");
}

TEST_CASE("feed_client: a restored job needs the records of its snapshot, from its stream") {
  const auto failure_of = [](std::uint64_t lowest, std::uint64_t behind, const feed_offer& offer) {
    feed_client x{"queue", 100, {1, 1, 0}};
    x.expect({{1, 2}});
    x.resume(lowest, behind);
    x.linked();
    x.heard(offer);
    return x.failure();
  };
  CHECK(failure_of(5, 20, offer_of(20, 5)).empty());
  CHECK(has(failure_of(5, 21, offer_of(20, 5)), "it has 20 records, and had at least 21"));
  CHECK(has(failure_of(4, 20, offer_of(20, 5)), "record 4 is needed"));
  feed_client x{"queue", 100, {1, 1, 0}};
  x.expect({{9, 2}});
  x.resume(5, 20);
  CHECK_FALSE(x.refusal_of(offer_of(20, 5)).empty());
}

TEST_CASE("feed_client: a record that was released while a row needs it is an error") {
  auto x = linked_client();
  x.records().need(4);
  x.heard(offer_of(120, 4));
  CHECK(x.failure().empty());
  x.heard(offer_of(120, 5));
  CHECK(has(x.failure(), "record 4 is needed, and it has only those from 5 on"));
}

TEST_CASE("feed_client: it speaks when that helps the feed, and not with each record") {
  auto x = linked_client();
  x.heard(offer_of(100'000));
  REQUIRE(x.take_want());
  std::size_t said = 0;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    x.look(i);
    said += x.take_want() ? 1 : 0;
  }
  CHECK(said > 10);
  CHECK(said < 100);
  x.cover(70, 2);
  CHECK_FALSE(x.take_want());
  CHECK(x.take_want(true)->covered == numbers{0, 70});
  CHECK_FALSE(x.take_want(true));
  x.starve(true);
  CHECK(x.take_want()->is_starved);
  x.records().need(4);
  CHECK_FALSE(x.take_want()->is_starved); // it has asked for something
}

} // namespace
} // namespace leat::feed_client_test
