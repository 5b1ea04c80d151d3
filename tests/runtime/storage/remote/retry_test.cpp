// When requests are made again, how many at a time, and which of them twice: all by given times.

#include "runtime/storage/remote/server/flow_limit.hpp"
#include "runtime/storage/remote/server/hedge_timer.hpp"
#include "runtime/storage/remote/server/retry_schedule.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

namespace leat::retry_test {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr retry_settings quick{.first = 100 * ms, .longest = 2000 * ms, .patience = 60'000 * ms};

TEST_CASE("retries: pauses are drawn below a limit that doubles, up to the longest") {
  for (std::uint64_t number = 0; number < 200; ++number) {
    retry_schedule x{quick, number, 0};
    std::int64_t limit = 100 * ms;
    for (int i = 0; i < 8; ++i) {
      const auto at = x.next(0, {}, true);
      REQUIRE(at);
      CHECK(*at >= 0);
      CHECK(*at < limit);
      limit = std::min(2 * limit, 2000 * ms);
    }
  }
}

TEST_CASE("retries: requests that failed together do not come back together") {
  std::set<std::int64_t> times;
  for (std::uint64_t number = 0; number < 1000; ++number)
    times.insert(*retry_schedule{quick, number, 0}.next(0, {}, true) / ms);
  CHECK(times.size() > 90);
  CHECK(*times.begin() < 5);
  CHECK(*times.rbegin() > 94);
  retry_schedule same{quick, 7, 0};
  CHECK(same.next(0, {}, true) == retry_schedule{quick, 7, 0}.next(0, {}, true));
}

TEST_CASE("retries: they end once nothing has come for long, and any byte begins anew") {
  retry_schedule x{quick, 1, 0};
  CHECK(x.next(59'000 * ms, {}, true));
  CHECK_FALSE(x.next(60'001 * ms, {}, true));
  x.progressed(60'001 * ms);
  CHECK(x.next(60'002 * ms, {}, true));
  CHECK_FALSE(x.next(70'000 * ms, 60'000 * ms, true)); // the server wants a longer pause than that
}

TEST_CASE("retries: a server's wish for a pause counts in full") {
  retry_schedule x{quick, 1, 0};
  CHECK(*x.next(5 * ms, 3000 * ms, true) == 3005 * ms);
}

TEST_CASE("retries: one request in ten may be repeated at once, the others wait longest") {
  retry_budget x;
  int taken = 0;
  while (x.take())
    ++taken;
  CHECK(taken == 100);
  for (int i = 0; i < 9; ++i)
    x.asked();
  CHECK_FALSE(x.take());
  x.asked();
  CHECK(x.take());
  std::int64_t sum = 0;
  for (std::uint64_t number = 0; number < 1000; ++number)
    sum += *retry_schedule{quick, number, 0}.next(0, {}, false);
  CHECK(sum / 1000 > 900 * ms);
}

TEST_CASE("retries: so many contradictions, and no more") {
  retry_schedule x{{.most_wrong = 3}, 1, 0};
  CHECK(x.take_wrong());
  CHECK(x.take_wrong());
  CHECK_FALSE(x.take_wrong());
}

/// Answers of 100 KB from a server whose link holds so many requests: further ones wait.
class answering {
public:
  explicit answering(std::size_t held) : holds(held) {}

  void rounds(flow_limit& x, int count) {
    for (int i = 0; i < count; ++i)
      for (auto left = x.limit() + 1; left > 0; --left)
        x.answered(true, 100'000,
                   now_ += 30 * ms / static_cast<std::int64_t>(std::min(x.limit(), holds)));
  }

  std::size_t holds;

private:
  std::int64_t now_ = 0;
};

TEST_CASE("flow: the limit grows while others wait and that brings more, up to the most") {
  flow_limit x{16, 100};
  for (int i = 0; i < 1000; ++i)
    x.answered(false, 100'000, i * ms);
  CHECK(x.limit() == 16);
  answering server{1000};
  server.rounds(x, 1);
  CHECK(x.limit() == 32);
  server.rounds(x, 20);
  CHECK(x.limit() == 100);
  server.rounds(x, 100);
  CHECK(x.limit() == 100);
}

TEST_CASE("flow: the limit stays near what the way to a server holds, and follows it") {
  flow_limit x;
  answering server{40};
  server.rounds(x, 200);
  CHECK(x.limit() >= 32);
  CHECK(x.limit() <= 64);
  server.holds = 400;
  server.rounds(x, 400);
  CHECK(x.limit() > 128);
}

/// As many as a server refuses that means it.
void refuse_some(flow_limit& x) {
  for (int i = 0; i < 8; ++i)
    x.refused(x.begin());
}

TEST_CASE("flow: the limit halves where much of what is new is refused, and grows again") {
  flow_limit x{20, 20};
  const auto first = x.begin();
  const auto second = x.begin();
  for (int i = 0; i < 8; ++i)
    x.refused(first);
  CHECK(x.limit() == 10);
  for (int i = 0; i < 100; ++i)
    x.refused(second); // it was in flight at that time
  CHECK(x.limit() == 10);
  refuse_some(x);
  CHECK(x.limit() == 5);
  for (int i = 0; i < 9; ++i)
    refuse_some(x);
  CHECK(x.limit() == 1);
  answering{1000}.rounds(x, 1000);
  CHECK(x.limit() == 20);
}

TEST_CASE("flow: a server that refuses one in twenty is asked for as much as another") {
  flow_limit x{20, 20};
  std::int64_t now = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto mark = x.begin();
    if (i % 20 == 7)
      x.refused(mark);
    else
      x.answered(true, 100'000, now += ms);
    REQUIRE(x.limit() == 20);
  }
  for (int i = 0; i < 200; ++i) { // but not one that refuses a third
    const auto mark = x.begin();
    if (i % 3 == 0)
      x.refused(mark);
    else
      x.answered(true, 100'000, now += ms);
  }
  CHECK(x.limit() < 10);
}

TEST_CASE("hedges: a second request after three times what most take, for one in twenty at most") {
  hedge_timer x{10 * ms};
  CHECK(x.delay() == 1000 * ms);
  for (int i = 0; i < 32; ++i)
    x.took(i % 16 == 0 ? 5000 * ms : 20 * ms); // the slow ones do not count
  CHECK(x.delay() == 60 * ms);
  for (int i = 0; i < 32; ++i)
    x.took(1 * ms);
  CHECK(x.delay() == 10 * ms);
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    x.asked();
    taken += x.take() ? 1 : 0;
  }
  CHECK(taken == 52);
}

} // namespace
} // namespace leat::retry_test
