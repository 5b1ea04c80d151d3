#include "tests/support/command.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>

// A trainer's own loop writes the logs that the command checks.
namespace leat::test::run_log_test {
namespace {

const words job{"count:100", "--seed", "7", "--global-batch", "10"};

pipeline data() {
  return count(100).shuffle({.seed = 7}).batch(10);
}

/// `name.0,name.1,...`
std::string joined(const std::string& name, std::uint64_t ranks) {
  std::string files;
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    files += (rank == 0 ? "" : ",") + name + "." + std::to_string(rank);
  return files;
}

loader rank_of(std::uint64_t rank, std::uint64_t world_size) {
  return {data(),
          {.rank = rank, .world_size = world_size, .workers = 1, .epochs = 2, .hash_pixels = true}};
}

TEST_CASE("run log: leat verify judges what a program's own loop hands over, also resumed") {
  command_bench x;
  x.order(job, 2, x.at / "order");
  std::vector<std::string> parts;
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    auto from = rank_of(rank, 2);
    run_log log{x.at / ("first." + std::to_string(rank)), from};
    for (int i = 0; i < 4; ++i) {
      const auto batch = from.next();
      log.append(*batch);
      if (i == 2)
        parts.push_back(batch->snapshot());
    }
  }
  for (std::uint64_t rank = 0; rank < 5; ++rank) {
    auto from = rank_of(rank, 5);
    from.restore_parts(parts);
    run_log log{x.at / ("second." + std::to_string(rank)), from};
    for (auto batch : from)
      log.append(*batch);
  }
  const words logs{x.at / "order", joined(x.at / "first", 2), joined(x.at / "second", 5)};
  REQUIRE(x.verify_good(logs)["rows"] == 200);
  // The log says where it began, and of what.
  const auto header = attempts_of(x.at / "second.1").at(0).header;
  check_members(header, {{"leat", "trainer"},
                         {"rank", 1},
                         {"world_size", 5},
                         {"records", 100},
                         {"resumed_at", json{{"epoch", 0}, {"step", 3}}}});
  REQUIRE(attempts_of(x.at / "first.0").at(0).header["resumed_at"].is_null());
  REQUIRE(header["data_digest"] == x.ask({"index", "count:100"})["digest"]);
  REQUIRE(header["data_digest"] == to_string(rank_of(0, 1).data_digest()));
  // A batch that is missing is found.
  std::filesystem::resize_file(x.at / "second.1", 300);
  REQUIRE(x.verify(logs)["lost"] > 0);
}

TEST_CASE("run log: one process may log all ranks in one file, start after start") {
  command_bench x;
  x.order(job, 2, x.at / "order");
  std::string state;
  for (const std::size_t most : {std::size_t{3}, SIZE_MAX}) {
    auto from = rank_of(0, 1);
    if (!state.empty())
      from.restore_parts({state});
    run_log log{x.at / "log", from, {.program = "mine", .all_ranks = true}};
    std::size_t steps = 0;
    for (auto batch : from) {
      log.append(*batch);
      state = batch->snapshot();
      if (++steps == most)
        break;
    }
  }
  const auto attempts = attempts_of(x.at / "log");
  REQUIRE(attempts.size() == 2);
  REQUIRE(attempts[0].header["leat"] == "mine");
  REQUIRE(attempts[0].header["rank"].is_null());
  REQUIRE(x.verify_good({x.at / "order", x.at / "log"})["rows"] == 200);
}

TEST_CASE("run log: an attempt after a rewind begins at the job's beginning") {
  command_bench x;
  x.order(job, 2, x.at / "order");
  auto first = rank_of(0, 1);
  const auto state = first.next()->snapshot();
  auto from = rank_of(0, 1);
  from.restore_parts({state});
  from.rewind();
  run_log log{x.at / "log", from};
  for (auto batch : from)
    log.append(*batch);
  REQUIRE(attempts_of(x.at / "log").at(0).header["resumed_at"].is_null());
  REQUIRE(x.verify_good({x.at / "order", x.at / "log"})["rows"] == 200);
}

TEST_CASE("run log: a batch of another loader is refused, and not logged") {
  command_bench x;
  auto mine = rank_of(0, 2);
  auto twin = rank_of(0, 2);
  auto other_rank = rank_of(1, 2);
  auto alone = rank_of(0, 1);
  run_log log{x.at / "log", mine};
  run_log all{x.at / "all", mine, {.all_ranks = true}};
  const auto is_refused = [](run_log& to, loader& from) {
    const auto problem = problem_of([&] { to.append(*from.next()); });
    return problem && problem->code() == errc::invalid_argument
           && contains(problem->details().got, "a batch of another loader: step ");
  };
  REQUIRE_FALSE(is_refused(log, mine));
  REQUIRE(is_refused(log, twin));
  REQUIRE(is_refused(log, other_rank));
  REQUIRE_FALSE(is_refused(all, mine));
  REQUIRE_FALSE(is_refused(all, other_rank));
  REQUIRE(is_refused(all, alone));
  REQUIRE(attempts_of(x.at / "log").at(0).batches.size() == 1);
  REQUIRE(attempts_of(x.at / "all").at(0).batches.size() == 2);
}

TEST_CASE("run log: a file that cannot be written is reported before the job runs") {
  command_bench x;
  auto from = rank_of(0, 1);
  REQUIRE_THROWS_AS((run_log{x.at / "none/log", from}), error);
}

} // namespace
} // namespace leat::test::run_log_test
