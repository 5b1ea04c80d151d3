#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"

#include "tools/leat/bound.hpp"

namespace leat::command::bound_test {
namespace {

using std::chrono::seconds;
using kind = stage_stats::kind;

/// Ten seconds of two workers.
job_times ten_seconds(seconds waited, seconds busy, seconds iterating,
                      std::vector<stage_stats> stages) {
  return {.elapsed = seconds{10},
          .waited = waited,
          .workers = 2,
          .busy = busy,
          .iterating = iterating,
          .stages = std::move(stages)};
}

std::vector<stage_stats> stages(int read, int decode, int tokenize, int write) {
  return {{"tar_shards", kind::reading, seconds{read}},
          {"map train_image@1", kind::decoding, seconds{decode}},
          {"map tokenize", kind::function, seconds{tokenize}},
          {"writing rows", kind::writing, seconds{write}}};
}

TEST_CASE("a trainer that hardly waits is what bounds a job") {
  const auto x = bound_of(ten_seconds(seconds{0}, seconds{19}, seconds{9}, stages(1, 16, 1, 1)));
  REQUIRE(x.what == bound::by::trainer);
  REQUIRE(bound_text(x) == "the trainer, which waits for data 0% of the time");
}

TEST_CASE("the stage that takes the workers longest bounds a job that waits for them") {
  const auto of = [](std::vector<stage_stats> x) {
    return bound_text(bound_of(ten_seconds(seconds{8}, seconds{19}, seconds{1}, std::move(x))));
  };
  REQUIRE(of(stages(1, 16, 2, 1))
          == "decoding: map train_image@1 is 80% of their work; workers are busy 95% of the time");
  REQUIRE(of(stages(16, 1, 2, 1))
          == "reading: tar_shards is 80% of their work; workers are busy 95% of the time");
  REQUIRE(of(stages(1, 1, 8, 0))
          == "map tokenize, which is 80% of their work; workers are busy 95% of the time");
  REQUIRE(of(stages(1, 1, 0, 8))
          == "writing rows to batches, 80% of their work; workers are busy 95% of the time");
}

TEST_CASE("iterators bound a job where they take workers longer than rows do") {
  const auto x = bound_of(ten_seconds(seconds{8}, seconds{16}, seconds{10}, stages(1, 2, 2, 1)));
  REQUIRE(x.what == bound::by::iterators);
  REQUIRE(bound_text(x)
          == "the iterators, which take 50% of the workers' time; workers are busy 80% of the "
             "time");
  REQUIRE(bound_to_json(x).at("what") == "iterators");
  REQUIRE(bound_to_json(x).at("name").is_null());
}

TEST_CASE("where all of them wait it is for what comes in") {
  const auto x = bound_of(ten_seconds(seconds{9}, seconds{1}, seconds{1}, stages(1, 0, 0, 0)));
  REQUIRE(x.what == bound::by::input);
}

/// Servers answered 1,000 requests in these ten seconds, for which workers waited.
remote_stats awaited(seconds waited) {
  return {.bytes_received = 830'000'000,
          .requests = 1000,
          .waited = waited,
          .queued = seconds{8},
          .requesting = seconds{200},
          .answering = seconds{20}};
}

TEST_CASE("where workers wait for bytes of remote files, what limits these bounds the job") {
  using by = bound::by;
  struct row {
    const char* what;
    by want;
    seconds waited = seconds{8};
    seconds busy = seconds{19};
    seconds iterating = seconds{1};
    std::vector<stage_stats> stages = {};
    seconds bytes = seconds{14};
  };
  const auto reads = stages(15, 2, 1, 1);
  for (const auto& x : std::vector<row>{
           {.what = "reading is waiting", .want = by::network, .stages = reads},
           {.what = "reading is work", .want = by::reading, .stages = reads, .bytes = seconds{7}},
           {.what = "decoding takes longer", .want = by::decoding, .stages = stages(4, 13, 1, 1)},
           {.what = "the trainer keeps up",
           .want = by::trainer,
           .waited = seconds{0},
           .stages = reads},
           {.what = "iterators wait",
           .want = by::network,
           .iterating = seconds{15},
           .stages = stages(1, 1, 1, 1)},
           {.what = "iterators work",
           .want = by::iterators,
           .iterating = seconds{15},
           .stages = stages(1, 1, 1, 1),
           .bytes = seconds{5}},
           {.what = "few rows come, and workers wait for them",
           .want = by::network,
           .busy = seconds{6},
           .stages = stages(5, 0, 0, 0)},
           {.what = "few rows come, for no want of bytes",
           .want = by::input,
           .busy = seconds{6},
           .stages = stages(5, 0, 0, 0),
           .bytes = seconds{1}}}) {
    CAPTURE(x.what);
    auto times = ten_seconds(x.waited, x.busy, x.iterating, x.stages);
    times.remote = awaited(x.bytes);
    const auto found = bound_of(times);
    CHECK(found.what == x.want);
    CHECK(found.remote.has_value() == (x.want == by::network));
    times.remote.reset();
    CHECK(bound_of(times).what != by::network);
  }
}

TEST_CASE("the sentence on a remote job says which limit it is") {
  auto times = ten_seconds(seconds{8}, seconds{19}, seconds{1}, stages(15, 2, 1, 1));
  times.remote = awaited(seconds{14});
  CHECK(bound_text(bound_of(times))
        == "the network: 83 MB/s come, with 20.0 requests in flight; workers wait for bytes 70% of "
           "the time");
  times.remote->throttled = 30;
  const auto x = bound_to_json(bound_of(times));
  CHECK(x.at("what") == "server");
  CHECK(x.at("remote").at("throttled") == 0.03);
  CHECK(bound_to_json(bound_of({})).at("remote").is_null());
}

TEST_CASE("where a feed is waited for, it bounds the job") {
  using by = bound::by;
  struct row {
    const char* what;
    by want;
    seconds waited = seconds{8};
    seconds busy = seconds{2};
    seconds iterating = seconds{1};
    std::vector<stage_stats> stages = {};
    feed_stats feed = {};
  };
  const feed_stats slow{.name = "queue", .starved = seconds{6}};
  const feed_stats far{.name = "queue", .fetching = seconds{5}, .waited = seconds{12}};
  const feed_stats quick{.name = "queue", .starved = seconds{1}, .fetching = seconds{1}};
  for (const auto& x :
       std::vector<row>{{.what = "its source gives no more", .want = by::feed, .feed = slow},
                        {.what = "something else is missing", .want = by::input, .feed = quick},
                        {.what = "the trainer keeps up",
                        .want = by::trainer,
                        .waited = seconds{0},
                        .feed = slow},
                        {.what = "decoding takes the workers' time",
                        .want = by::decoding,
                        .busy = seconds{19},
                        .stages = stages(1, 16, 1, 1),
                        .feed = slow},
                        {.what = "reading is waiting for records on their way",
                        .want = by::feed,
                        .busy = seconds{19},
                        .stages = stages(16, 1, 1, 1),
                        .feed = far},
                        {.what = "reading is work",
                        .want = by::reading,
                        .busy = seconds{19},
                        .stages = stages(16, 1, 1, 1),
                        .feed = quick},
                        {.what = "without workers the trainer's thread waits in the iterators",
                        .want = by::feed,
                        .busy = seconds{18},
                        .iterating = seconds{16},
                        .feed = slow}}) {
    CAPTURE(x.what);
    auto times = ten_seconds(x.waited, x.busy, x.iterating,
                             x.stages.empty() ? stages(1, 0, 0, 0) : x.stages);
    times.feeds = {{.name = "other"}, x.feed};
    const auto found = bound_of(times);
    CHECK(found.what == x.want);
    CHECK(found.feed.has_value() == (x.want == by::feed));
    CHECK((found.name == "queue") == (x.want == by::feed));
  }
}

TEST_CASE("the sentence on a job that waits for its feed names it, where it is, and its pace") {
  auto times = ten_seconds(seconds{8}, seconds{2}, seconds{1}, stages(1, 0, 0, 0));
  times.feeds = {{.name = "queue",
                  .at = "10.0.0.5:4242",
                  .records_received = 5020,
                  .bytes_received = 12'000'000,
                  .starved = seconds{7}}};
  CHECK(bound_text(bound_of(times))
        == "the feed queue at 10.0.0.5:4242: its source had not given what was asked for 70% of "
           "the time; 502 records and 1.2 MB per second come");
  auto x = bound_to_json(bound_of(times));
  CHECK(x.at("what") == "feed");
  CHECK(x.at("name") == "queue");
  CHECK(x.at("feed").at("at") == "10.0.0.5:4242");
  CHECK(x.at("feed").at("starved") == 0.7);
  CHECK(x.at("feed").at("records_per_second") == 502);
  CHECK(x.at("remote").is_null());
  times.feeds[0].at.clear();
  times.feeds[0].fetching = seconds{9};
  CHECK(bound_text(bound_of(times))
        == "the feed queue, which nobody serves now: workers waited for its records 90% of the "
           "time; 502 records and 1.2 MB per second come");
  x = bound_to_json(bound_of(times));
  CHECK(x.at("feed").at("at").is_null());
  CHECK(bound_to_json(bound_of({})).at("feed").is_null());
}

TEST_CASE("a job without a batch is bound by nothing") {
  REQUIRE(bound_of({}).what == bound::by::nothing);
  REQUIRE(bound_of(ten_seconds(seconds{9}, seconds{0}, seconds{9}, {})).what == bound::by::nothing);
}

TEST_CASE("ranks of one process are added up") {
  loader_stats rank;
  rank.workers = {{.worker = 0, .busy = seconds{3}}, {.worker = 1, .busy = seconds{4}}};
  rank.iterating = seconds{2};
  rank.stages = stages(1, 2, 3, 1);
  const auto x = times_of({rank, rank}, seconds{10}, seconds{5});
  REQUIRE(x.workers == 4);
  REQUIRE(x.busy == seconds{14});
  REQUIRE(x.iterating == seconds{4});
  REQUIRE(x.stages.size() == 4);
  REQUIRE(x.stages[2].time == seconds{6});
}

} // namespace
} // namespace leat::command::bound_test
