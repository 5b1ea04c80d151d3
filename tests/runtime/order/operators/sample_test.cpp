#include "runtime/base/xxh3.hpp"
#include "tests/support/restored_job.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::sample_test {
namespace {

using ids = std::vector<std::string>;

/// docs/iterators.md, "sample", for an operator with ordinal 0 outside repeats: uses only the hash
/// of leat's code.
bool is_kept(const std::string& id, double p, std::uint64_t seed, std::uint64_t epoch,
             std::uint64_t ordinal = 0, std::uint64_t pass = 0) {
  std::string words;
  auto add = [&](std::uint64_t x) {
    for (int i = 0; i < 8; ++i)
      words += static_cast<char>(x >> 8 * i);
  };
  add(6);
  words += "sample";
  for (const auto x : {seed, ordinal, epoch, pass})
    add(x);
  words += id;
  const auto hash = xxh3_128(std::as_bytes(std::span{words})).low;
  return static_cast<long double>(hash) < std::ldexp(static_cast<long double>(p), 64);
}

ids kept_of(const ids& all, double p, std::uint64_t seed, std::uint64_t epoch) {
  ids kept;
  std::copy_if(all.begin(), all.end(), std::back_inserter(kept),
               [&](const auto& x) { return is_kept(x, p, seed, epoch); });
  return kept;
}

/// The batches of an epoch, in one lane: their ids, in order.
ids ids_of(loader& from, std::uint64_t epoch) {
  ids result;
  for (auto batch = from.next(); batch; batch = from.next()) {
    REQUIRE(batch->epoch() == epoch);
    for (const auto& id : batch->ids())
      if (!id.empty())
        result.push_back(id);
    if (batch->end_of_epoch())
      break;
  }
  return result;
}

pipeline in_one_lane(const pipeline& x) {
  return x.batch(7, {.lanes = 1, .end = epoch_end::mask});
}

TEST_CASE("sample: what is kept is what the documentation says, in the order of the input") {
  for (const double p : {0.25, 0.5, 0.999, 1.0})
    for (const std::uint64_t seed : {0, 7}) {
      const auto all = count(300).shuffle({.seed = 3});
      loader whole{in_one_lane(all), {.workers = 0, .epochs = 3}};
      loader some{in_one_lane(all.sample(p, seed)), {.workers = 0, .epochs = 3}};
      std::set<ids> different;
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        CAPTURE(p, seed, epoch);
        const auto kept = kept_of(ids_of(whole, epoch), p, seed, epoch);
        REQUIRE(ids_of(some, epoch) == kept);
        CHECK(std::abs(static_cast<double>(kept.size()) - 300 * p) < 45); // five deviations
        auto sorted = kept;
        std::sort(sorted.begin(), sorted.end());
        different.insert(sorted);
      }
      if (p <= 0.5 || p == 1) // nearly all of 300 may be the same ones
        CHECK(different.size() == (p == 1 ? 1 : 3));
    }
}

TEST_CASE("sample: several choose independently, and again in each pass of a repeat") {
  const auto data = in_one_lane(count(400).sample(0.5).repeat(2).sample(0.5));
  loader x{data, {.workers = 0, .epochs = 1}};
  ids wanted;
  for (std::uint64_t pass = 0; pass < 2; ++pass)
    for (std::uint64_t i = 0; i < 400; ++i) {
      const auto id = "count/" + std::to_string(i);
      if (is_kept(id, 0.5, 0, 0, 0, pass) && is_kept(id, 0.5, 0, 0, 1))
        wanted.push_back(id);
    }
  CHECK(ids_of(x, 0) == wanted);
}

TEST_CASE("sample: a job resumed after any batch continues with the same samples") {
  const auto data = count(90)
                        .shuffle({.seed = 1})
                        .sample(0.6, 2)
                        .shuffle_buffer(20)
                        .sample(0.7, 3)
                        .batch(6, {.lanes = 3, .end = epoch_end::mask});
  CHECK(test::check_restores(data, 2).size() > 10);
}

TEST_CASE("sample: text form, and what is refused") {
  CHECK(to_string(count(9).sample(0.5, 3)) == "count(9, record_bytes=8)\n  .sample(0.5, seed=3)\n");
  CHECK(to_string(parse_pipeline("count(9).sample(1)")) == to_string(count(9).sample(1)));
  CHECK(parse_pipeline(to_string(count(9).sample(1e-7))) == count(9).sample(1e-7));
  CHECK(to_string(count(9).sample(-0.0)) == to_string(count(9).sample(0)));
  for (const double p : {-0.1, 1.01, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(count(9).sample(p), error);
  CHECK_THROWS_AS(parse_pipeline("count(9).sample(\"0.5\")"), error);
  CHECK_THROWS_AS(parse_pipeline("count(9).sample()"), error);
}

} // namespace
} // namespace leat::sample_test
