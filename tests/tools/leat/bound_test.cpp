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
