#include "tests/support/refusal.hpp"
#include "tests/support/standard.hpp"

#include <leat/leat.hpp>

namespace leat::leave_out_test {
namespace {

/// Ids of each batch by its step of the job; a step that was left out has none.
using steps = std::vector<std::pair<std::uint64_t, std::vector<std::string>>>;

steps rest_of(loader& x) {
  steps result;
  while (auto batch = x.next())
    result.emplace_back(batch->global_step(), batch->ids());
  return result;
}

steps without(steps all, std::uint64_t first, std::uint64_t last) {
  std::erase_if(all, [&](const auto& x) { return x.first >= first && x.first <= last; });
  return all;
}

/// An indexed order, and one with a state in every lane.
std::vector<pipeline> both_kinds() {
  return {count(90).shuffle({.seed = 3}).batch(6),
          count(90).shuffle_buffer(24, 5).batch(6, {.lanes = 3, .end = epoch_end::drop})};
}

TEST_CASE("leave_out_steps: those steps are missing, all others as they were, numbers too") {
  for (const auto& data : both_kinds())
    for (std::size_t workers : {0, 3}) {
      const loader_options options{.workers = workers, .epochs = 2};
      loader whole{data, options};
      const auto all = rest_of(whole);
      REQUIRE(all.size() == 30);
      loader x{data, options};
      x.leave_out_steps(4, 6);
      x.leave_out_steps(14, 16); // over the end of an epoch
      CHECK(rest_of(x) == without(without(all, 4, 6), 14, 16));
    }
}

TEST_CASE("leave_out_steps: snapshots keep it, wherever the job is broken") {
  for (const auto& data : both_kinds()) {
    const loader_options options{.workers = 2, .epochs = 2};
    loader whole{data, options};
    const auto expected = without(rest_of(whole), 7, 9);
    for (std::size_t stop = 0; stop <= expected.size(); ++stop) {
      CAPTURE(stop);
      loader begun{data, options};
      begun.leave_out_steps(7, 9);
      steps got;
      for (std::size_t i = 0; i < stop; ++i) {
        auto batch = begun.next();
        got.emplace_back(batch->global_step(), batch->ids());
      }
      loader resumed{data, options};
      resumed.restore_parts({begun.snapshot()});
      for (auto& step : rest_of(resumed))
        got.push_back(std::move(step));
      REQUIRE(got == expected);
    }
  }
}

TEST_CASE("leave_out_steps: refuses steps that are past, fall, or come too late") {
  const auto data = both_kinds().front();
  loader x{data, {}};
  CHECK_THROWS_AS(x.leave_out_steps(5, 4), error);
  x.skip_first_batches(3);
  CHECK_THROWS_AS(x.leave_out_steps(2, 4), error);
  x.leave_out_steps(3, 3);
  REQUIRE(x.next());
  CHECK_THROWS_AS(x.leave_out_steps(8, 9), error);
}

TEST_CASE("leave_out_steps: what the restored job left out may be named again, nothing else") {
  for (const auto& data : both_kinds()) {
    loader begun{data, {}};
    begun.leave_out_steps(2, 4);
    begun.leave_out_steps(6, 7);
    for (auto n : {0, 1, 5})
      CHECK(begun.next()->global_step() == static_cast<std::uint64_t>(n));
    const auto taken = begun.snapshot(); // after step 5
    loader whole{data, {}};
    const auto rest = without(without(rest_of(whole), 0, 5), 6, 9);
    loader x{data, {}};
    x.restore_parts({taken});
    for (const auto& steps :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 3}, {4, 5}, {5, 8}, {0, 9}}) {
      CAPTURE(steps.first, steps.second);
      check_refusal([&] { x.leave_out_steps(steps.first, steps.second); }, errc::invalid_argument,
                    {"is past"});
    }
    x.leave_out_steps(2, 4);
    x.leave_out_steps(6, 9);
    x.leave_out_steps(3, 4);
    CHECK(rest_of(x) == rest);

    // Steps named before the restore are not forgotten.
    loader early{data, {}};
    early.leave_out_steps(3, 4);
    early.leave_out_steps(8, 9);
    early.restore_parts({taken});
    CHECK(rest_of(early) == rest);
    loader other{data, {}};
    other.leave_out_steps(4, 5);
    check_refusal([&] { other.restore_parts({taken}); }, errc::invalid_argument,
                  {"step 5 is past"});
  }
}

TEST_CASE(
    "loader_options.steps: none from there on is handed over, also where steps are left out") {
  for (const auto& data : both_kinds())
    for (std::size_t workers : {0, 2}) {
      loader whole{data, {.epochs = 2}};
      const auto all = rest_of(whole);
      for (std::uint64_t end : {0, 1, 4, 6, 15, 16, 30, 31}) {
        CAPTURE(workers, end);
        loader x{data, {.workers = workers, .epochs = 2, .steps = end}};
        x.leave_out_steps(2, 4);
        x.leave_out_steps(14, 15); // an end of an epoch among them
        CHECK(rest_of(x) == without(without(without(all, 2, 4), 14, 15), end, 40));
        CHECK(x.position().global_step == std::min<std::uint64_t>(end, 30));
        CHECK(x.position().epoch == std::min<std::uint64_t>(end, 30) / 15);
        CHECK_FALSE(x.next());
        loader skipped{data, {.workers = workers, .epochs = 2, .steps = end}};
        skipped.skip_first_batches(UINT64_MAX);
        CHECK(skipped.position().global_step == std::min<std::uint64_t>(end, 30));
        CHECK_FALSE(skipped.next());
      }
    }
}

} // namespace
} // namespace leat::leave_out_test
