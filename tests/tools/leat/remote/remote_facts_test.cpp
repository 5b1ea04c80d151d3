#include "tests/support/catch.hpp"

#include "tools/leat/remote/remote_facts.hpp"

#include <vector>

namespace leat::command::remote_facts_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using by = remote_limit::by;

TEST_CASE("remote facts: what limits bytes is found from shares") {
  struct row {
    const char* what;
    by want;
    std::uint64_t throttled = 0;
    seconds without_budget = seconds{0};
    seconds queued = seconds{0};
    seconds answering = seconds{10};
  };
  for (const auto& x : std::vector<row>{
           {.what = "nothing but the way", .want = by::network},
           {.what = "few refusals", .want = by::network, .throttled = 19},
           {.what = "refusals", .want = by::throttling, .throttled = 20},
           {.what = "refusals count first",
           .want = by::throttling,
           .throttled = 500,
           .without_budget = seconds{10},
           .answering = seconds{99}},
           {.what = "no budget", .want = by::budget, .without_budget = seconds{5}},
           {.what = "of several readers",
           .want = by::budget,
           .without_budget = seconds{70},
           .answering = seconds{99}},
           {.what = "a budget that requests in a queue use up",
           .want = by::network,
           .without_budget = seconds{10},
           .queued = seconds{5}},
           {.what = "now and then no budget", .want = by::network, .without_budget = seconds{4}},
           {.what = "slow answers", .want = by::slow_answers, .answering = seconds{50}}}) {
    CAPTURE(x.what);
    const remote_stats asked{.bytes_received = 1'000'000,
                             .requests = 1000,
                             .throttled = x.throttled,
                             .without_budget = x.without_budget,
                             .queued = x.queued,
                             .requesting = seconds{100},
                             .answering = x.answering};
    const auto found = limit_of(asked, seconds{10});
    CHECK(found.what == x.want);
    CHECK(found.in_flight == 10);
    CHECK(found.bytes_per_second == 100'000);
    CHECK(found.without_budget <= 1);
  }
  CHECK(limit_of({}, seconds{0}).what == by::network);
}

TEST_CASE("remote facts: each limit has its sentence") {
  const remote_limit some{.throttled = 0.12,
                          .without_budget = 0.8,
                          .answering = 0.9,
                          .in_flight = 4,
                          .bytes_per_second = 2'000'000};
  const auto said = [&](by what) {
    auto x = some;
    x.what = what;
    return limit_text(x);
  };
  const std::string rate = ": 2.0 MB/s come, with 4.0 requests in flight";
  CHECK(said(by::network) == "the network" + rate);
  CHECK(said(by::throttling)
        == "the server, which refused 12% of the requests for being too many (503, 429)" + rate);
  CHECK(said(by::slow_answers)
        == "the server, which takes 90% of the time of a request to begin its answer" + rate);
  CHECK(said(by::budget)
        == "the budget for reading ahead (--remote-bytes), which is used up 80% of the time"
               + rate);
}

TEST_CASE("remote facts: a job without servers says nothing of them") {
  CHECK(remote_to_json({}).is_null());
  CHECK(remote_progress({}, seconds{5}).empty());
  CHECK_FALSE(remote_of({loader_stats{}, loader_stats{}}));
  CHECK_FALSE(since({}, {}));
}

TEST_CASE("remote facts: they are a process's, and are shown from a time on") {
  loader_stats rank;
  rank.remote = remote_stats{.bytes_received = 5'000'000,
                             .requests = 1200,
                             .retries = 7,
                             .hedges = 3,
                             .waited = milliseconds{2500}};
  const auto now = remote_of({rank, rank});
  REQUIRE(now);
  CHECK(now->requests == 1200); // not of both
  CHECK(remote_text(*now)
        == "5.0 MB in 1,200 requests, of which 7 were retries and 3 second ones for slow ones");
  CHECK(remote_to_json(now).at("waited_seconds") == 2.5);
  const remote_stats before{.bytes_received = 1'000'000, .requests = 200, .waited = seconds{2}};
  CHECK(remote_progress(since(before, now), seconds{2})
        == "received 4.0 MB at 2.0 MB/s, 1,000 requests, 7 retries");
  CHECK(since(before, now)->waited == milliseconds{500});
  CHECK(since({}, now)->requests == 1200);
}

} // namespace
} // namespace leat::command::remote_facts_test
