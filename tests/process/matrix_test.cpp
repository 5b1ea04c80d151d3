#include "tests/support/command.hpp"

// Workers, ranks and policies change who does the work, never what is handed over.
namespace leat::test::matrix_test {
namespace {

const std::vector<std::uint64_t> worker_counts{0, 1, 2, 3, 8, 64};
const std::vector<std::uint64_t> world_sizes{1, 2, 3, 4, 8};

words shape(std::uint64_t workers, std::uint64_t world_size, const std::string& policy) {
  return words_of("--workers " + std::to_string(workers) + " --world-size "
                  + std::to_string(world_size) + " --dispatch " + policy);
}

/// Runs two epochs of 12-byte records in every shape under one policy.
void check_policy(const std::string& policy) {
  const auto job = words_of("count:500:12 --seed 5 --global-batch 240 --lanes 24");
  command_bench x;
  const auto order = x.order(job, 2, x.at / "order");
  REQUIRE(order.size() == 4);
  for (auto workers : worker_counts)
    for (auto world_size : world_sizes) {
      CAPTURE(workers, world_size, policy);
      const auto log = x.at / ("log-" + std::to_string(workers) + "-" + std::to_string(world_size));
      auto summary = x.ask(words{"run"} + job + shape(workers, world_size, policy)
                           + words{"--epochs", "2", "--log", log});
      REQUIRE(summary["samples"] == 960);
      const auto batches = batches_of(log);
      REQUIRE(check_sequence(batches, order, {0, 0}, world_size) == order.end());
      for (const auto& batch : batches)
        for (const auto& row : batch.rows)
          REQUIRE(row.pixels == count_pixels(row, 12));
      auto verdict = x.verify({x.at / "order", log});
      check_members(verdict,
                    {{"rows", 960}, {"steps", 4}, {"attempts", 1}, {"digest", summary["digest"]}});
    }
}

TEST_CASE("matrix: on_demand, any workers and ranks") {
  check_policy("on_demand");
}

TEST_CASE("matrix: round_robin, any workers and ranks") {
  check_policy("round_robin");
}

TEST_CASE("matrix: by_lane, any workers and ranks") {
  check_policy("by_lane");
}

TEST_CASE(
    "matrix: a masked epoch shows every record once and existing rows only, at any world size") {
  const auto job = words_of("count:500:7 --global-batch 240 --lanes 24 --end mask");
  command_bench x;
  const auto order = x.order(job, 1, x.at / "order");
  REQUIRE(order.size() == 3);
  REQUIRE(order.at({0, 2}).size() == 20);
  std::map<std::string, int> seen;
  for (const auto& [key, rows] : order)
    for (const auto& row : rows)
      ++seen[row.id];
  REQUIRE(seen.size() == 500);
  for (std::uint64_t world_size : {1, 5, 7, 64}) {
    const auto log = x.at / ("log-" + std::to_string(world_size));
    auto summary =
        x.ask(words{"run"} + job + shape(2, world_size, "on_demand") + words{"--log", log});
    REQUIRE(summary["samples"] == 500);
    REQUIRE(check_sequence(batches_of(log), order, {0, 0}, world_size) == order.end());
    REQUIRE(x.verify({x.at / "order", log})["rows"] == 500);
  }
}

TEST_CASE("matrix: photographs have the same pixels in every shape") {
  command_bench x;
  x.make_photos(x.at / "data", 250, 3);
  const words job{x.at / "data/*.tar", "--global-batch", "240", "--lanes", "24"};
  const auto order = x.order(job, 1, x.at / "order");
  x.succeed(words{"run"} + job + shape(0, 1, "on_demand") + words{"--log", x.at / "reference"});
  const auto reference = table_of(batches_of(x.at / "reference"));
  REQUIRE(reference.at({0, 0}).size() == 240);
  struct {
    std::uint64_t workers, world_size;
    const char* policy;
  } const shapes[] = {{1, 2, "round_robin"},
                      {2, 3, "by_lane"},
                      {3, 8, "on_demand"},
                      {8, 4, "by_lane"},
                      {64, 1, "round_robin"}};
  for (const auto& s : shapes) {
    CAPTURE(s.workers, s.world_size, s.policy);
    const auto log = x.at / ("log-" + std::to_string(s.workers));
    x.succeed(words{"run"} + job + shape(s.workers, s.world_size, s.policy) + words{"--log", log});
    const auto batches = batches_of(log);
    REQUIRE(check_sequence(batches, order, {0, 0}, s.world_size) == order.end());
    REQUIRE(table_of(batches) == reference);
    REQUIRE(x.verify({x.at / "order", x.at / "reference", log})["changed"] == 0);
  }
}

TEST_CASE("matrix: resizing at several steps and a death change no row and no pixel") {
  const auto job = words_of("count:4000:12 --global-batch 40 --lanes 8");
  command_bench x;
  const auto order = x.order(job, 1, x.at / "order");
  const words drills{
      "--resize 3:5 --resize 20:1 --resize 41:64 --resize 60:2",
      "--fault slow:0,1 --fault die:1,777", // slow, or one worker might take all rows
      "--fault slow:1,1 --fault die:0,0 --resize 50:4", "--fault slow:1,1 --fault die:0,3900"};
  for (const auto& policy : policy_names)
    for (std::size_t i = 0; i < drills.size(); ++i) {
      CAPTURE(policy, drills[i]);
      const auto log = x.at / ("log-" + policy + std::to_string(i));
      auto summary = x.ask(words{"run"} + job + shape(2, 2, policy) + words_of(drills[i])
                           + words{"--epochs", "1", "--log", log, "--stats", x.at / "stats"});
      const auto batches = batches_of(log);
      REQUIRE(check_sequence(batches, order, {0, 0}, 2) == order.end());
      for (const auto& batch : batches)
        for (const auto& row : batch.rows)
          REQUIRE(row.pixels == count_pixels(row, 12));
      REQUIRE(summary["workers_replaced"] == (i == 0 ? 0 : 1));
      if (i == 0 && policy == "round_robin") { // each worker must get its turn
        std::map<std::uint64_t, std::uint64_t> done;
        const auto stats = json::parse(read_file(x.at / "stats"));
        for (const auto& worker : stats["workers"])
          if (worker["rows_done"] > 0)
            ++done[worker["rank"]];
        REQUIRE(done[0] > 5);
        REQUIRE(done[1] > 5);
      }
    }
}

} // namespace
} // namespace leat::test::matrix_test
