#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/twins.hpp"

#include <leat/leat.hpp>

// Rounds of operators that probe content, below operators that stop asking for more: what was
// probed for them and is then not wanted must leave no trace. See tests/support/twins.hpp.
namespace leat::test::content_rounds_test {
namespace {

const filter_stage keep_none = probing("none@1", [](sample&) { return false; });

/// Values by position.
using rows = std::map<std::uint64_t, std::int64_t>;

/// The first `steps` batches of a lane-wise order, `m` items of each lane in each; none if a lane
/// has nothing.
std::optional<rows> expected_rows(const twin& x, std::uint64_t lanes, std::uint64_t steps,
                                  std::uint64_t m, epoch_end end) {
  rows all;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    const auto items = x.plain(lane, lanes);
    if (items.empty())
      return std::nullopt;
    const auto most = end == epoch_end::cycle ? steps * m : std::min(steps * m, items.size());
    for (std::uint64_t k = 0; k < most; ++k)
      all[lane + k * lanes] = items[k % items.size()];
  }
  return all;
}

rows rows_of(const pipeline& data, const loader_options& options, std::uint64_t steps) {
  loader from{data, options};
  rows all;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto x = from.next();
    if (!x)
      break;
    const auto v = x->view<std::int64_t, 1>("v");
    const auto positions = x->positions(); // of valid rows
    for (std::size_t i = 0, row = 0; i < x->size(); ++i)
      if (x->valid()[i] != 0)
        all[positions[row++]] = v(i);
  }
  return all;
}

void check_twin(const twin& x, std::uint64_t lanes, std::uint64_t m, epoch_end end,
                std::uint64_t steps = 12) {
  const auto expected = expected_rows(x, lanes, steps, m, end);
  if (!expected)
    return;
  const auto data = x.data.batch(lanes * m, {.lanes = lanes, .end = end});
  CAPTURE(to_string(data));
  for (const std::size_t workers : {0, 1, 3, 8}) {
    CAPTURE(workers);
    const auto policy = all_policies[(lanes + workers) % 3];
    REQUIRE(rows_of(data, {.workers = workers, .dispatch = policy}, steps) == *expected);
  }
}

TEST_CASE("content rounds: random joins that end early give what a plain reading gives") {
  for (std::uint64_t seed = 0; seed < (test::thread_sanitized ? 40 : 200); ++seed) {
    CAPTURE(seed);
    twin_grower grower{seed};
    const auto x = grower.grow(2 + static_cast<int>(grower.below(3)));
    try {
      check_twin(x, 1 + grower.below(3), 1 + grower.below(2),
                 grower.below(2) == 0 ? epoch_end::mask : epoch_end::cycle);
    } catch (const gives_nothing&) {
    }
  }
}

TEST_CASE("content rounds: what begins again within what begins again gives all of it each time") {
  int checked = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    twin_grower grower{seed};
    const auto x = grower.nest(3 + static_cast<int>(grower.below(2)));
    try {
      check_twin(x, 1 + grower.below(2), 1 + grower.below(3), epoch_end::cycle, 60);
      ++checked;
    } catch (const gives_nothing&) {
    }
  }
  CHECK(checked >= 30);
}

/// Four nested mixes: each repeats the one inside it several times, and the innermost draws.
pipeline nested_draws() {
  auto x = drawing_leaf();
  std::uint64_t size = 5;
  for (int level = 0; level < 4; ++level, size *= 4)
    x = mix({x, leaf(size, level, false).data}, {.stop = mix_stop::cycle});
  return x.batch(1, {.end = epoch_end::cycle});
}

TEST_CASE("content rounds: no two passes draw alike, however deep") {
  constexpr std::uint64_t steps = 1500;
  const auto all = rows_of(nested_draws(), {.workers = 0}, steps);
  REQUIRE(all.size() == steps);
  std::size_t draws = 0;
  std::set<std::int64_t> different;
  for (const auto& [position, v] : all)
    if (v < 0) {
      ++draws;
      different.insert(v);
    }
  CHECK(draws > 60);
  CHECK(different.size() == draws);
}

TEST_CASE("content rounds: snapshots in passes above 2^64 are exact") {
  const auto data = nested_draws();
  constexpr std::uint64_t steps = 700;
  const auto all = rows_of(data, {.workers = 0}, steps);
  loader from{data, {.workers = 0}};
  for (std::uint64_t step = 0; step + 20 < steps; ++step) {
    const auto x = from.next();
    REQUIRE(x);
    if (step % 53 != 0)
      continue;
    CAPTURE(step);
    loader again{data, {.workers = 0}};
    again.restore_parts({x->snapshot()});
    for (std::uint64_t p = step + 1; p < step + 20; ++p) {
      const auto y = again.next();
      REQUIRE(y);
      CAPTURE(p);
      REQUIRE((y->view<std::int64_t, 1>("v")(0)) == all.at(p));
    }
  }
}

TEST_CASE("content rounds: more than 2^128 passes are refused") {
  auto x = filtered(leaf(3, 1, false), 1).data;
  for (int level = 0; level < 4; ++level)
    x = mix({x, leaf(5, 2, false).data}, {.stop = mix_stop::cycle});
  CHECK_NOTHROW(loader{x.batch(1), {.workers = 0}});
  check_refusal(
      [&] {
        loader{x.repeat(2).batch(1), {.workers = 0}};
      },
      errc::invalid_argument, {"more than 2^128 passes"});
}

TEST_CASE("content rounds: an input of a cycling mix that gives nothing is an error, also if it is "
          "found last") {
  const auto empty = leaf(3, 1, false).data.filter(keep_none);
  const auto some = leaf(2, 2, false).data;
  for (const std::size_t workers : {0, 2})
    for (const auto& inputs : {std::vector{some, empty}, std::vector{empty, some}}) {
      // Deficit asks the input with the larger weight first, and the other one when both are due.
      for (const auto& weights : {std::vector<double>{9, 1}, {1, 9}}) {
        CAPTURE(workers, weights);
        const auto data = mix(inputs, {.weights = weights, .stop = mix_stop::cycle})
                              .batch(1, {.end = epoch_end::mask});
        const auto run = [&] { rows_of(data, {.workers = workers}, 20); };
        CHECK(check_refusal(run, errc::empty_epoch).details().stage == "mix");
      }
    }
}

TEST_CASE(
    "content rounds: repetitions without an item end, or are an error where they are endless") {
  const auto rows_after = [](std::uint64_t times) {
    const auto data = concat({count(2).filter(keep_none).repeat(times), leaf(1, 2, false).data});
    return rows_of(data.batch(1, {.end = epoch_end::mask}), {.workers = 0}, 20);
  };
  CHECK(rows_after(1000).size() == 1);
  const auto failed = check_refusal([&] { rows_after(UINT64_MAX); }, errc::empty_epoch);
  CHECK(failed.details().stage == "repeat");
}

} // namespace
} // namespace leat::test::content_rounds_test
