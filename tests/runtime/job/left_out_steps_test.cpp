#include "runtime/job/left_out_steps.hpp"
#include "tests/support/test.hpp"

namespace leat::left_out_steps_test {
namespace {

std::string text_of_refusal(left_out_steps& steps, const step_range& range, std::uint64_t now) {
  const auto problem = problem_of([&] { steps.add(range, now); });
  CHECK((!problem || problem->code() == errc::invalid_argument));
  return problem ? problem->what() : "";
}

TEST_CASE("left out steps: past steps are refused, unless they are left out already") {
  left_out_steps steps;
  steps.add({4, 6}, 0);
  CHECK(text_of_refusal(steps, {4, 6}, 10).empty());
  CHECK(has(text_of_refusal(steps, {4, 7}, 10), "step 7 is past"));
  CHECK(has(text_of_refusal(steps, {3, 3}, 4), "step 3 is past"));
  CHECK(text_of_refusal(steps, {7, 7}, 7).empty());
  CHECK(has(text_of_refusal(steps, {9, 8}, 0), "a first step that is not above the last"));
}

TEST_CASE("left out steps: a restore takes those of the snapshot and those that were named") {
  left_out_steps steps;
  steps.add({20, 22}, 0);
  const auto restored = steps.restored({{2, 3}}, 15);
  CHECK(restored.ranges() == std::vector<step_range>{{2, 3}, {20, 22}});
  // Those of the first snapshot do not count once there is another.
  CHECK(restored.restored({}, 15).ranges() == std::vector<step_range>{{20, 22}});
  CHECK_THROWS_AS(steps.restored({}, 21), error); // 20 was handed over in that job
  CHECK(steps.ranges() == std::vector<step_range>{{20, 22}});
}

TEST_CASE("left out steps: as a set of numbers has it") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 200; ++round) {
    left_out_steps steps;
    std::set<std::uint64_t> expected;
    std::uint64_t now = 0;
    for (int i = 0; i < 12; ++i, now += random() % 3) {
      const auto first = random() % 40;
      const step_range range{first, first + random() % 6};
      bool is_allowed = true;
      for (auto x = range.first; x <= range.last && x < now; ++x)
        is_allowed = is_allowed && expected.count(x) > 0;
      REQUIRE(text_of_refusal(steps, range, now).empty() == is_allowed);
      for (auto x = range.first; is_allowed && x <= range.last; ++x)
        expected.insert(x);
      for (std::uint64_t x = 0; x < 50; ++x)
        REQUIRE(steps.contains(x) == (expected.count(x) > 0));
    }
  }
}

} // namespace
} // namespace leat::left_out_steps_test
