#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::snapshot_facts_test {
namespace {

namespace fs = std::filesystem;

pipeline indexed_job() {
  return count(100).shuffle({.seed = 3}).batch(8);
}

/// A round below the last, and a buffer in each lane.
pipeline iterated_job() {
  return count(400)
      .filter(key_hash(80))
      .shuffle_buffer(32, 1)
      .filter(field_hash("value", 50))
      .batch(8, {.lanes = 4, .end = epoch_end::cycle});
}

std::vector<loader> ranks_of(const pipeline& data, std::uint64_t world_size) {
  std::vector<loader> ranks;
  for (std::uint64_t rank = 0; rank < world_size; ++rank)
    ranks.emplace_back(data, loader_options{.rank = rank, .world_size = world_size, .workers = 0});
  return ranks;
}

/// Hands over so many batches, and returns the digest of the last.
hash128 train(std::vector<loader>& ranks, int steps) {
  hash128 digest;
  for (int i = 0; i < steps; ++i) {
    digest = {};
    for (auto& rank : ranks)
      digest += rank.next()->digest();
  }
  return digest;
}

void save(std::vector<loader>& ranks, const std::string& directory) {
  for (auto& rank : ranks) {
    rank.save(directory);
    rank.wait_saved();
  }
}

} // namespace

TEST_CASE("facts of a snapshot say where the job stands and what it has handed over") {
  const test::temporary_directory at;
  auto ranks = ranks_of(indexed_job(), 2);
  for (auto& rank : ranks)
    rank.leave_out_steps(1, 2);
  train(ranks, 3);
  save(ranks, at.path());
  const auto facts = read_snapshot(at.path());
  CHECK(facts.epoch == 0);
  CHECK(facts.step == 5);
  CHECK(facts.global_step == 5);
  CHECK(facts.world_size == 2);
  CHECK(facts.parts == 2);
  CHECK(facts.samples == 24);
  CHECK_FALSE(facts.partial);
  CHECK(facts.left_out == std::vector<step_range>{{1, 2}});
  CHECK(facts.digest == ranks[0].position().digest + ranks[1].position().digest);
  CHECK(facts.skipped.empty());
  CHECK(facts.state == lane_sizes{});
  CHECK(facts.pipeline.batch_rows() == 8);
  CHECK(facts.pipeline.root.inputs[0].inputs[0].data->records == 100);
}

TEST_CASE("in a later epoch the job's sums are not those of the epoch") {
  const auto some_bad = [](sample&, context& at) {
    if (at.position() == 1)
      throw bad_sample(cause::corrupt, "one");
  };
  loader x{count(100).map("some bad@1", some_bad).batch(8),
           {.workers = 0, .epochs = 2, .bad_samples = bad_sample_policy::mask}};
  hash128 of_job;
  hash128 of_epoch;
  for (int i = 0; i < 15; ++i) { // an epoch has 12 batches
    const auto batch = x.next();
    of_job += batch->digest();
    of_epoch = batch->epoch() == 0 ? hash128{} : of_epoch + batch->digest();
  }
  const auto facts = inspect_snapshot({x.snapshot()});
  CHECK(facts.epoch == 1);
  CHECK(facts.step == 3);
  CHECK(facts.global_step == 15);
  CHECK(facts.digest == of_job);
  CHECK(facts.epoch_digest == of_epoch);
  CHECK(facts.samples == 15 * 8 - 2);
  CHECK(facts.bad[static_cast<std::size_t>(cause::corrupt)] == 2);
}

TEST_CASE("one rank's file says the same, with sums of its own") {
  const test::temporary_directory at;
  auto ranks = ranks_of(indexed_job(), 2);
  train(ranks, 3);
  save(ranks, at.path());
  const auto facts = read_snapshot(at / "epoch-0-step-3.rank-1-of-2");
  CHECK(facts.step == 3);
  CHECK(facts.world_size == 2);
  CHECK(facts.parts == 1);
  CHECK(facts.partial);
  CHECK(facts.samples == 12);
  CHECK(facts.digest == ranks[1].position().digest);
}

TEST_CASE("bytes that a program keeps are inspected as files are") {
  auto ranks = ranks_of(indexed_job(), 2);
  train(ranks, 3);
  const auto facts = inspect_snapshot({ranks[1].snapshot(), ranks[0].snapshot()});
  CHECK(facts.parts == 2);
  CHECK(facts.samples == 24);
  CHECK_FALSE(facts.partial);
  CHECK(inspect_snapshot({ranks[1].snapshot()}).partial);
  for (const auto& parts : std::vector<std::vector<std::string>>{
           {ranks[0].snapshot(), ranks[0].snapshot()}, {"no snapshot"}, {}})
    CHECK(code_of([&] { inspect_snapshot(parts); }) == errc::bad_snapshot);
}

TEST_CASE("the newest complete set restores any number of loaders") {
  for (const auto& data : {indexed_job(), iterated_job()}) {
    CAPTURE(to_string(data));
    const test::temporary_directory at;
    auto ranks = ranks_of(data, 2);
    train(ranks, 2);
    save(ranks, at.path());
    train(ranks, 3);
    save(ranks, at.path());
    const auto next = train(ranks, 1);

    const auto set = newest_snapshot(at.path());
    REQUIRE(set);
    CHECK(set.parts.size() == 2);
    for (const std::uint64_t world_size : {1, 4}) {
      auto others = ranks_of(data, world_size);
      for (auto& rank : others)
        CHECK(rank.restore_parts(set.parts).step == 5);
      CHECK(train(others, 1) == next);
    }
  }
}

TEST_CASE("sets that lack a part or are torn are passed over and named, or refused") {
  const test::temporary_directory at;
  auto ranks = ranks_of(indexed_job(), 2);
  train(ranks, 2);
  save(ranks, at.path());
  train(ranks, 3);
  save(ranks, at.path());
  SECTION("a part is missing") {
    fs::remove(at / "epoch-0-step-5.rank-1-of-2");
    const auto set = newest_snapshot(at.path());
    CHECK(inspect_snapshot(set.parts).step == 2);
    CHECK(set.skipped
          == std::vector<std::string>{"epoch 0 step 5: 1 of 2 parts, no part of rank 1"});
    CHECK(read_snapshot(at.path()).skipped == set.skipped);
  }
  SECTION("a part is torn") {
    test::tear(at / "epoch-0-step-5.rank-1-of-2");
    CHECK(code_of([&] { newest_snapshot(at.path()); }) == errc::bad_snapshot);
    CHECK(code_of([&] { read_snapshot(at.path()); }) == errc::bad_snapshot);
    CHECK(inspect_snapshot(newest_snapshot(at.path(), {.allow_older = true}).parts).step == 2);
    CHECK(read_snapshot(at.path(), {.allow_older = true}).skipped.size() == 1);
  }
}

TEST_CASE("a directory without a complete set has none, and nothing to read") {
  const test::temporary_directory at;
  CHECK_FALSE(newest_snapshot(at.path()));
  CHECK_FALSE(newest_snapshot(at / "nowhere"));
  CHECK(code_of([&] { read_snapshot(at.path()); }) == errc::not_found);
  CHECK(code_of([&] { read_snapshot(at / "nowhere"); }) == errc::not_found);
  auto ranks = ranks_of(indexed_job(), 2);
  train(ranks, 1);
  ranks[0].save(at.path());
  ranks[0].wait_saved();
  CHECK_FALSE(newest_snapshot(at.path()));
  CHECK(newest_snapshot(at.path()).skipped.size() == 1);
  CHECK(thrown_by([&] { read_snapshot(at.path()); }).details().got
        == "no complete set, but epoch 0 step 1: 1 of 2 parts, no part of rank 1");
}

TEST_CASE("sizes of states are those of all lanes, and of rounds below rounds") {
  const auto two_rounds = count(4000)
                              .filter(key_hash(90))
                              .shuffle_buffer(32, 1)
                              .filter(field_hash("value", 90))
                              .shuffle_buffer(16, 2)
                              .filter(field_hash("value", 80))
                              .batch(8, {.lanes = 4, .end = epoch_end::cycle});
  for (const auto& data : {iterated_job(), two_rounds}) {
    CAPTURE(to_string(data));
    auto ranks = ranks_of(data, 1);
    train(ranks, 100); // lanes keep states every 64 items
    const auto state = inspect_snapshot({ranks[0].snapshot()}).state;
    CHECK(state.lanes == 4);
    REQUIRE(state.rounds.size() == (data == two_rounds ? 2 : 1));
    std::uint64_t below = 0;
    for (const auto& [round, bytes] : state.rounds) {
      CHECK(bytes > 4 * (data == two_rounds ? 4 : 8)); // buffers of 8 in each lane, and of 4
      below += bytes;
    }
    CHECK(state.bytes == below + state.last_round);
    CHECK(state.largest_lane >= state.bytes / 4);
    CHECK(state.largest_lane < state.bytes);
  }
}

TEST_CASE("the pipeline of a snapshot is made again, and its job goes on") {
  auto ranks = ranks_of(iterated_job(), 1);
  train(ranks, 3);
  const auto part = ranks[0].snapshot();
  const auto next = train(ranks, 1);
  const auto again = pipeline_of(inspect_snapshot({part}));
  CHECK(again == iterated_job());
  auto others = ranks_of(again, 1);
  others[0].restore_parts({part});
  CHECK(train(others, 1) == next);
}

TEST_CASE("a pipeline with functions of a program is not made again where they are not known") {
  const auto data = count(9).map("unknown@1", [](sample&, context&) {}).batch(3);
  auto ranks = ranks_of(data, 1);
  train(ranks, 1);
  CHECK(code_of([&] { pipeline_of(inspect_snapshot({ranks[0].snapshot()})); })
        == errc::invalid_argument);
}

} // namespace leat::snapshot_facts_test
