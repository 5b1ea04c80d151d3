#include "runtime/job/epoch_end_agreement.hpp"
#include "tests/support/test.hpp"

namespace leat::agreement_test {
namespace {

using answers = std::vector<epoch_agreement>;

epoch_geometry shape_with(epoch_end end) {
  return {.batch_rows = 4, .lanes = 4, .end = end, .is_indexed = false};
}

/// Gives the answers that a test sets, and counts how often it was asked.
struct ranks {
  answers all;
  int asked = 0;

  epoch_end_agreement with(epoch_end end) {
    return {shape_with(end), all.size(), [this](const epoch_agreement& mine) {
              ++asked;
              auto said = all;
              said[0] = mine;
              return said;
            }};
  }
};

batch_plan batch_at(std::uint64_t step, std::uint64_t known, bool is_final) {
  return {.step = step, .horizon = {known, is_final}};
}

TEST_CASE("agreement: one rank, an endless epoch and an indexed order need none") {
  const auto never = [](const epoch_agreement&) -> answers { throw std::logic_error("asked"); };
  CHECK_FALSE(epoch_end_agreement(shape_with(epoch_end::drop), 1, never).is_needed());
  CHECK_FALSE(epoch_end_agreement(shape_with(epoch_end::cycle), 3, never).is_needed());
  CHECK_FALSE(
      epoch_end_agreement({.end = epoch_end::drop, .is_indexed = true}, 3, never).is_needed());
  auto alone = epoch_end_agreement(shape_with(epoch_end::mask), 1, never);
  auto batch = batch_at(0, 1, true);
  batch.end_of_epoch = true;
  batch.end_of_epoch = alone.settle(batch, {});
  CHECK(batch.end_of_epoch);
}

answers is_down(const epoch_agreement&) {
  throw std::runtime_error("down");
}

TEST_CASE("agreement: an epoch that has no batch for all ranks is an error") {
  ranks two{{{}, {.batches = 0, .is_final = 1}}};
  auto ends = two.with(epoch_end::drop);
  CHECK(code_of([&] { (void)ends.settle(batch_at(0, 2, false), {}); }) == errc::empty_epoch);
}

TEST_CASE("agreement: a failed rank, missing answers and a function that throws are errors") {
  const auto text_of = [](epoch_end_agreement ends) {
    return std::string{thrown_by([&] { (void)ends.settle(batch_at(0, 2, false), {}); }).what()};
  };
  ranks failed{{{}, {}, {.has_failed = 1}}};
  CHECK(has(text_of(failed.with(epoch_end::mask)), "rank 2, which has failed"));
  const auto shape = shape_with(epoch_end::drop);
  CHECK(has(text_of({shape, 2, [](const auto& x) { return answers{x}; }}), "1 answers"));
  CHECK(has(text_of({shape, 2, is_down}), "down"));
}

batch_plan failed_plan() {
  return {.what = batch_plan::kind::failed, .epoch = UINT64_MAX, .step = UINT64_MAX};
}

TEST_CASE("agreement: a failure is told where ranks ask, and never waits for others to ask") {
  // They ask at the batch of step 4, the last that was agreed on.
  ranks two{{{}, {.batches = 5, .is_final = 0}}};
  for (std::uint64_t step = 1; step < 6; ++step) {
    CAPTURE(step);
    two.asked = 0;
    auto ends = two.with(epoch_end::mask);
    (void)ends.settle(batch_at(0, 1, true), {});
    REQUIRE(two.asked == 1);
    CHECK_FALSE(ends.settle(failed_plan(), {.next = {0, step}, .global_step = step}));
    CHECK(two.asked == (step < 4 ? 1 : 2));
  }
  // The epoch's end is known: they do not ask again before the next one.
  two.all[1].is_final = 1;
  auto ends = two.with(epoch_end::mask);
  two.asked = 0;
  (void)ends.settle(batch_at(0, 1, true), {});
  for (std::uint64_t step = 1; step < 6; ++step)
    CHECK_FALSE(ends.settle(failed_plan(), {.next = {0, step}, .global_step = step}));
  CHECK(two.asked == 1);
  ends.begin_epoch();
  CHECK_FALSE(ends.settle(failed_plan(), {.next = {1, 0}, .global_step = 5}));
  CHECK(two.asked == 2);
}

TEST_CASE("agreement: a rank that has failed says why, also where the others have failed or gone") {
  ranks two{{{}, {.has_failed = 1}}};
  auto both = two.with(epoch_end::drop);
  CHECK_FALSE(both.settle(failed_plan(), {}));
  CHECK(two.asked == 1);
  epoch_end_agreement gone{shape_with(epoch_end::drop), 2, is_down};
  CHECK_FALSE(gone.settle(failed_plan(), {}));
}

/// The horizon of an order in an epoch of this length, which knows some batches ahead.
epoch_horizon horizon_of(std::uint64_t length, std::uint64_t step, std::uint64_t ahead) {
  return length <= step + ahead ? epoch_horizon{length, true} : epoch_horizon{step + ahead, false};
}

TEST_CASE("agreement: all ranks end an epoch at the same batch, and ask once a horizon") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 1000; ++round) {
    const std::size_t world = 2 + random() % 4;
    const auto rule = random() % 2 == 0 ? epoch_end::drop : epoch_end::mask;
    const std::uint64_t longest = random() % 3 == 0 ? 300 : 6;
    // How far ahead each rank knows its batches: as far as one needs to, or further.
    std::vector<std::uint64_t> lengths(world);
    std::vector<std::uint64_t> depths(world);
    for (std::size_t r = 0; r < world; ++r) {
      lengths[r] = 1 + random() % longest;
      depths[r] = 2 + random() % 70;
    }
    const auto expected = rule == epoch_end::drop
                              ? *std::min_element(lengths.begin(), lengths.end())
                              : *std::max_element(lengths.begin(), lengths.end());
    // In step: all statements are gathered before any rank receives them.
    answers said(world);
    std::vector<std::uint64_t> asked(world);
    std::vector<epoch_end_agreement> ends;
    for (std::size_t r = 0; r < world; ++r)
      ends.emplace_back(shape_with(rule), world, [&, r](const epoch_agreement&) {
        ++asked[r];
        return said;
      });
    for (std::uint64_t step = 0;; ++step) {
      std::vector<batch_plan> plans;
      for (std::size_t r = 0; r < world; ++r) {
        const auto known = horizon_of(lengths[r], step, depths[r]);
        plans.push_back(batch_at(step, known.batches, known.is_final));
        said[r] = {static_cast<std::int64_t>(known.batches), known.is_final ? 1 : 0, 0};
      }
      std::set<bool> is_end;
      for (std::size_t r = 0; r < world; ++r) {
        CAPTURE(step, expected);
        is_end.insert(ends[r].settle(plans[r], {.next = {0, step}, .global_step = step}));
      }
      REQUIRE(is_end.size() == 1);
      REQUIRE(step < expected);
      REQUIRE(std::set(asked.begin(), asked.end()).size() == 1);
      if (*is_end.begin()) {
        REQUIRE(step + 1 == expected);
        break;
      }
    }
    // The rank that knows least decides how often; each horizon begins at the last batch of the
    // one before.
    const auto least = *std::min_element(depths.begin(), depths.end()) - 1;
    REQUIRE(asked[0] <= 1 + (expected + least - 1) / least);
  }
}

} // namespace
} // namespace leat::agreement_test
