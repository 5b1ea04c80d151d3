// Kills the leat command at random moments, resumes it in another shape, and compares what it
// handed over with an uninterrupted run: lost, repeated, moved, changed.

#include "tests/support/kill_drill.hpp"

namespace leat::test::kill_test {
namespace {

using std::chrono::milliseconds;

TEST_CASE("kill: twenty random deaths in two epochs, each time other ranks and workers") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  kill_drill x{{words_of("count:20000:64 --global-batch 120 --lanes 24"), {"--step-time", "1"}},
               seed};
  for (int i = 0; i < 20; ++i)
    x.attempt(x.one_of({1, 2, 3, 4, 8}), x.one_of({0, 1, 2, 3, 8}), false, x.between(20, 80));
  x.attempt(3, 2, false, milliseconds{0});
  x.check();
}

TEST_CASE("kill: ranks in processes of their own, killed together") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  kill_drill x{{words_of("count:9000:64 --global-batch 90 --end mask"), {"--step-time", "1"}},
               seed};
  for (int i = 0; i < 8; ++i)
    x.attempt(std::array{2, 3, 5}[static_cast<std::size_t>(i % 3)], x.one_of({1, 2, 3}), true,
              x.between(30, 90));
  x.attempt(2, 2, true, milliseconds{0});
  x.check();
}

// Without a coordinator, nothing determines a common start for the ranks. A set is complete when
// each rank has handed over what comes before it, whenever that was.
TEST_CASE(
    "kill: a rank that starts late begins where a set with a part it left behind is complete") {
  const auto options = words_of("count:900:64 --global-batch 90 --end mask");
  const auto snapshots = [](const kill_drill& x) { return x.at / "snapshots"; };
  kill_drill x{{options, {}, 1}, 0};
  auto run = [&](int rank, const std::string& log, const words& more) {
    x.succeed(words{"run"} + options + words_of("--world-size 2 --resume --snapshot-every 2")
              + words{"--rank", std::to_string(rank), "--log", x.at / log}
              + words{"--snapshot-dir", snapshots(x)} + more);
    x.add_log(x.at / log);
  };
  run(1, "left-behind", {"--steps", "6"});
  REQUIRE(x.next_step(snapshots(x)) == step_key{0, 0});
  run(0, "early", {"--steps", "5"});
  REQUIRE(x.next_step(snapshots(x)) == step_key{0, 4});
  run(1, "late", {});
  REQUIRE(whole_lines_of(x.at / "late").at(1)["step"] == 4);
  run(0, "early again", {});
  x.check();
}

TEST_CASE("kill: photographs, with windowed order") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  const command_bench photos;
  photos.make_photos(photos.at / "data", 240, 6);
  kill_drill x{{words{photos.at / "data/*.tar"}
                + words_of("--global-batch 24 --shuffle windowed --window 2")},
               seed};
  for (int i = 0; i < 8; ++i)
    x.attempt(x.one_of({1, 2, 3, 6}), x.one_of({0, 1, 2, 3}), false, x.between(60, 260));
  x.attempt(4, 1, false, milliseconds{0});
  x.check();
}

} // namespace
} // namespace leat::test::kill_test
