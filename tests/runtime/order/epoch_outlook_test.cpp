#include "runtime/order/epoch_outlook.hpp"
#include "tests/support/test.hpp"

namespace leat::epoch_outlook_test {
namespace {

/// The outcome of an epoch, from the next batch on.
struct outcome {
  /// Batches with rows, and one that fails.
  std::uint64_t batches = 0;
  bool fails = false;
};

/// The outcome for lanes that will give nothing more.
outcome outcome_of(const std::vector<lane_supply>& lanes, epoch_end end, std::size_t m) {
  for (std::uint64_t batch = 0;; ++batch) {
    bool any = false;
    bool ends = false;
    bool fails = false;
    for (const auto& x : lanes) {
      any = any || x.items > batch * m;
      if (x.items < (batch + 1) * m) {
        ends = ends || x.is_dry;
        fails = fails || x.has_failed;
      }
    }
    if (end == epoch_end::drop && ends)
      return {batch, false};
    if (fails)
      return {batch + 1, true};
    if (end == epoch_end::mask && !any)
      return {batch, false};
  }
}

/// All possible outcomes for lanes that may give more.
std::vector<outcome> outcomes_of(const std::vector<lane_supply>& lanes, epoch_end end,
                                 std::size_t m) {
  std::vector<std::vector<lane_supply>> futures{{}};
  for (const auto& x : lanes) {
    std::vector<lane_supply> ways;
    if (x.is_dry || x.has_failed)
      ways.push_back(x);
    else
      for (std::size_t more = 0; more <= 2 * m; ++more)
        for (const bool dry : {false, true})
          ways.push_back({.items = x.items + more, .is_dry = dry, .has_failed = !dry});
    std::vector<std::vector<lane_supply>> longer;
    for (const auto& future : futures)
      for (const auto& way : ways) {
        longer.push_back(future);
        longer.back().push_back(way);
      }
    futures = std::move(longer);
  }
  std::vector<outcome> result;
  for (const auto& x : futures)
    result.push_back(outcome_of(x, end, m));
  return result;
}

std::vector<lane_supply> random_lanes(std::mt19937_64& chance, std::size_t m) {
  std::vector<lane_supply> lanes(1 + chance() % 3);
  const std::size_t most = 1 + (chance() % 2 == 0 ? 2 : 5) * m;
  for (auto& x : lanes) {
    x.items = chance() % most;
    const auto kind = chance() % 4;
    x.is_dry = kind < 2;
    x.has_failed = kind == 2;
  }
  return lanes;
}

TEST_CASE("epoch_outlook: says as much as is certain, whatever lanes may meet") {
  std::mt19937_64 chance{7};
  for (int i = 0; i < 6000; ++i) {
    const std::size_t m = 1 + chance() % 3;
    const auto end = chance() % 2 == 0 ? epoch_end::drop : epoch_end::mask;
    const auto lanes = random_lanes(chance, m);
    const auto all = outcomes_of(lanes, end, m);
    const auto [least, most] =
        std::minmax_element(all.begin(), all.end(), [](const outcome& a, const outcome& b) {
          return a.batches < b.batches;
        });
    const bool is_final =
        least->batches == most->batches
        && std::none_of(all.begin(), all.end(), [](const outcome& x) { return x.fails; });
    const bool fails_now = std::all_of(all.begin(), all.end(),
                                       [](const outcome& x) { return x.fails && x.batches == 1; });
    CAPTURE(i, m, end == epoch_end::drop, lanes.size());
    const auto said = look_ahead(lanes, end, m, false);
    REQUIRE(said.batches == least->batches);
    REQUIRE(said.is_final == is_final);
    const bool may_come = std::any_of(lanes.begin(), lanes.end(), [&](const lane_supply& x) {
      return x.items < m && !x.is_dry && !x.has_failed;
    });
    REQUIRE(said.failed.has_value() == (fails_now && !may_come));
    REQUIRE(said.is_known == (!fails_now && (is_final || said.batches > 1)));
  }
}

TEST_CASE("epoch_outlook: of several failures the first position's counts, once all lanes are in") {
  const lane_supply late{.items = 2, .has_failed = true};
  const lane_supply early{.items = 1, .has_failed = true};
  const lane_supply open{.items = 0};
  const lane_supply full{.items = 9};
  for (const auto end : {epoch_end::drop, epoch_end::mask, epoch_end::cycle}) {
    CHECK(look_ahead({late, early, full, early}, end, 3, false).failed == 1U);
    CHECK_FALSE(look_ahead({late, open, full}, end, 3, false).failed);
    // Nothing waits for a record that may never come; but its absence may end the epoch under drop.
    CHECK(look_ahead({late, open, full}, end, 3, true).failed.has_value()
          == (end != epoch_end::drop));
  }
}

TEST_CASE("epoch_outlook: an epoch without end is told one batch ahead") {
  CHECK(look_ahead({{.items = 3}, {.items = 4}}, epoch_end::cycle, 3, false).is_known);
  const auto late = look_ahead({{.items = 3}, {.items = 2}}, epoch_end::cycle, 3, false);
  CHECK_FALSE(late.is_known);
  CHECK_FALSE(late.failed);
}

} // namespace
} // namespace leat::epoch_outlook_test
