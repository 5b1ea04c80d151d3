#include "tests/support/lengths.hpp"
#include "tests/support/restored_job.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::token_budget_test {
namespace {

using test::lengths;
using test::samples_of;
using batches = std::vector<std::vector<std::size_t>>;

/// The numbers of the samples of each batch of one lane.
batches given_by(const lengths& all, std::uint64_t tokens, token_budget_options options,
                 epoch_end end = epoch_end::mask) {
  loader from{samples_of(all)
                  .token_budget("text", tokens, options)
                  .batch(options.rows, {.lanes = 1, .end = end}),
              {.workers = 0, .epochs = 1}};
  batches result;
  while (const auto batch = from.next()) {
    auto& numbers = result.emplace_back();
    for (const auto& id : batch->ids())
      numbers.push_back(test::number_in(id));
    CHECK(numbers.size() == batch->valid_rows());
  }
  return result;
}

TEST_CASE("token_budget: a batch takes what fits, in order, and never more than its rows") {
  const lengths all{1, 3, 2, 6, 4, 1, 0, 0, 0, 0, 6};
  const batches expected{{0, 1, 2}, {3}, {4, 5, 6, 7}, {8, 9, 10}};
  CHECK(given_by(all, 6, {.rows = 4}) == expected);
  // Each epoch's last batch is complete, however few samples it has.
  CHECK(given_by(all, 6, {.rows = 4}, epoch_end::drop) == expected);
  CHECK(given_by({2, 2}, 100, {.rows = 1}) == batches{{0}, {1}});
}

TEST_CASE("token_budget: batches are as full as they can be, and all samples come once") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 60; ++round) {
    lengths all(1 + random() % 200);
    const auto tokens = 1 + random() % 60;
    for (auto& x : all)
      x = random() % (1 + std::min<std::size_t>(tokens, 30));
    const token_budget_options options{.rows = 1 + random() % 8, .padded = random() % 2 == 0};
    CAPTURE(tokens, options.rows, options.padded);
    const auto cost = [&](const std::vector<std::size_t>& x) {
      std::size_t sum = 0;
      std::size_t longest = 0;
      for (const auto i : x) {
        sum += all[i];
        longest = std::max(longest, all[i]);
      }
      return options.padded ? longest * x.size() : sum;
    };
    std::size_t next = 0;
    for (const auto& batch : given_by(all, tokens, options)) {
      REQUIRE_FALSE(batch.empty());
      for (const auto i : batch)
        REQUIRE(i == next++);
      REQUIRE(cost(batch) <= tokens);
      auto more = batch;
      more.push_back(next);
      REQUIRE((next == all.size() || batch.size() == options.rows || cost(more) > tokens));
    }
    REQUIRE(next == all.size());
  }
}

TEST_CASE("token_budget: each lane has its share of rows and tokens, and rows without a sample"
          " come last") {
  // Lane 0 has the even numbers, lane 1 the odd ones; each has 2 rows and 5 tokens.
  const lengths all{5, 1, 2, 1, 3, 1, 1, 1};
  const auto data = samples_of(all).token_budget("text", 11, {.rows = 4});
  for (const std::uint64_t ranks : {1, 2}) {
    batches got;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      loader from{data.batch(4, {.lanes = 2, .end = epoch_end::cycle}),
                  {.rank = rank, .world_size = ranks, .workers = 1}};
      for (std::size_t step = 0; step < 2; ++step) {
        const auto batch = from.next();
        REQUIRE(batch);
        if (got.size() <= step)
          got.emplace_back();
        for (std::size_t i = 0; i < batch->size(); ++i)
          CHECK(batch->valid()[i] == (i < batch->valid_rows() ? 1 : 0));
        std::size_t tokens = 0;
        for (std::size_t i = 0; i < batch->size(); ++i)
          tokens += batch->ragged("text")[i].size();
        CHECK(tokens <= 10 / ranks);
        for (const auto position : batch->positions())
          got[step].push_back(position);
      }
    }
    for (auto& x : got)
      std::sort(x.begin(), x.end());
    CHECK(got == batches{{0, 1, 3}, {4, 5, 6, 7}});
  }
}

TEST_CASE("token_budget: restored at every batch, for several lanes, ends and bad samples") {
  for (const auto end : {epoch_end::mask, epoch_end::drop})
    for (const auto& input : test::whole_and_broken_samples())
      for (const bool padded : {false, true}) {
        const auto made = input.token_budget("text", 90, {.rows = 6, .padded = padded})
                              .map("times@1", [](sample& s, context&) { s.set("m", 2); })
                              .batch(6, {.lanes = 2, .end = end, .fields = {"n"}});
        CAPTURE(to_string(made));
        CHECK(test::check_restores(made, 2).size() >= 28);
      }
}

TEST_CASE("token_budget: a sample that no batch can hold is bad") {
  const auto made =
      samples_of({2, 9, 3}).token_budget("text", 8, {.rows = 2}).batch(2, {.lanes = 1});
  loader strict{made, {.workers = 0}};
  const auto problem = thrown_by([&] {
    while (strict.next())
      ;
  });
  CHECK(problem.code() == errc::bad_sample);
  CHECK(has(problem.details().got, "of 9 tokens; a lane's share of a batch is 8"));
  loader lenient{samples_of({2, 9, 3}).token_budget("text", 8, {.rows = 3}).batch(3, {.lanes = 1}),
                 {.workers = 0, .bad_samples = bad_sample_policy::mask}};
  const auto batch = lenient.next();
  REQUIRE(batch);
  CHECK(batch->size() == 3);
  CHECK(batch->valid_rows() == 2);
  CHECK(batch->bad().size() == 1);
}

TEST_CASE(
    "token_budget: a batch's fields are learned from the first good sample, behind any blanks") {
  for (const auto& all : {lengths{30, 7, 5}, lengths{30, 30, 1, 9}, lengths{30, 1, 1, 9, 9, 1}})
    for (const bool padded : {false, true})
      for (const auto end : {epoch_end::mask, epoch_end::drop, epoch_end::cycle}) {
        CAPTURE(all, padded, end);
        loader from{samples_of(all)
                        .token_budget("text", 12, {.rows = 3, .padded = padded})
                        .batch(3, {.lanes = 1, .end = end}),
                    {.workers = 0, .steps = 6, .bad_samples = bad_sample_policy::mask}};
        std::size_t good = 0;
        std::size_t bad = 0;
        const auto due = static_cast<std::size_t>(
            std::count_if(all.begin(), all.end(), [](auto size) { return size <= 12; }));
        while (good < due) {
          const auto batch = from.next();
          REQUIRE(batch);
          good += batch->valid_rows();
          bad += batch->bad().size();
        }
        CHECK(good == due);
        CHECK(bad == all.size() - due);
      }
}

TEST_CASE("token_budget: fewer tokens than lanes are refused") {
  const auto made = samples_of({1, 1, 1, 1}).token_budget("text", 3, {.rows = 4}).batch(4);
  CHECK(has(thrown_by([&] {
              loader{made, {.workers = 0}};
            })
                .details()
                .got,
            "3 tokens over 4 lanes"));
}

} // namespace
} // namespace leat::token_budget_test
