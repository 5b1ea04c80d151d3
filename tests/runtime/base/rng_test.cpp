#include "tests/support/test.hpp"
#include "tests/support/uniformity.hpp"

#include <leat/rng.hpp>

namespace leat::rng_test {
namespace {

using test::most_sigmas;
using test::sigmas_from_uniform;
using words = std::array<std::uint32_t, 4>;

#ifdef __OPTIMIZE__
constexpr int draws = 1'000'000;
#else
constexpr int draws = 50'000;
#endif

/// Correlation of two sequences of uniform numbers, in standard deviations from 0.
double correlation_sigmas(rng a, rng b) {
  double covariance = 0;
  for (int i = 0; i < draws; ++i)
    covariance += (a.uniform() - 0.5) * (b.uniform() - 0.5);
  return covariance * 12 / std::sqrt(draws);
}

} // namespace

TEST_CASE("rng: philox4x32-10 gives the known answers of its authors") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff})
        == words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0})
        == words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("rng: stream is the key, sample key and block are the counter") {
  rng r{0x299f31d0a4093822, 0x0370734413198a2e};
  for (std::uint32_t block = 0; block < 3; ++block)
    for (auto word : philox4x32({block, 0, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}))
      CHECK(r() == word);
}

TEST_CASE("rng: the documented values") {
  rng bits{1, 2};
  CHECK(bits.bits64() == 0x8cedc5d3e73404cf);
  CHECK(rng{1, 2}.uniform() == static_cast<double>(0x8cedc5d3e73404cf >> 11) * 0x1p-53);
  rng die{1, 2};
  std::vector<std::uint64_t> rolls(8);
  std::generate(rolls.begin(), rolls.end(), [&] { return die.below(6); });
  CHECK(rolls == std::vector<std::uint64_t>{1, 2, 3, 5, 3, 4, 2, 2});
}

TEST_CASE("rng: uniform is even from 0 to below 1") {
  constexpr std::size_t cells = 1000;
  rng r{1, 1};
  std::vector<int> counts(cells);
  for (int i = 0; i < draws; ++i) {
    const double x = r.uniform();
    REQUIRE(x >= 0);
    REQUIRE(x < 1);
    ++counts[static_cast<std::size_t>(x * cells)];
  }
  CHECK(std::abs(sigmas_from_uniform(counts)) < most_sigmas);
}

TEST_CASE("rng: uniform of a range stays in it and reaches both ends") {
  rng r{1, 5};
  double least = 1e9;
  double most = -1e9;
  for (int i = 0; i < 10'000; ++i) {
    const double x = r.uniform(-3.0, 5.0);
    least = std::min(least, x);
    most = std::max(most, x);
  }
  CHECK(least >= -3.0);
  CHECK(least < -2.9);
  CHECK(most < 5.0);
  CHECK(most > 4.9);
}

TEST_CASE("rng: below is even") {
  for (std::uint64_t n : {2, 3, 6, 7, 1000}) {
    rng r{2, n};
    std::vector<int> counts(n);
    for (int i = 0; i < draws; ++i)
      ++counts.at(r.below(n));
    CAPTURE(n);
    CHECK(std::abs(sigmas_from_uniform(counts)) < most_sigmas);
  }
}

TEST_CASE("rng: below rejects what would favour small numbers") {
  // Without rejection, a third of 2^64 would be hit twice: the lower half by 2/3 of all draws.
  constexpr std::uint64_t n = 0xAAAAAAAAAAAAAAAA;
  rng r{2, 9};
  std::vector<int> counts(2);
  for (int i = 0; i < draws; ++i) {
    const auto x = r.below(n);
    REQUIRE(x < n);
    ++counts[x < n / 2 ? 0 : 1];
  }
  CHECK(sigmas_from_uniform(counts) < most_sigmas);
}

TEST_CASE("rng: below one is zero") {
  rng r{2, 3};
  for (int i = 0; i < 100; ++i)
    CHECK(r.below(1) == 0);
}

TEST_CASE("rng: a coin falls with its probability") {
  rng r{4, 4};
  int heads = 0;
  for (int i = 0; i < draws; ++i)
    heads += r.coin(0.3) ? 1 : 0;
  CHECK(std::abs(heads - 0.3 * draws) < most_sigmas * std::sqrt(0.3 * 0.7 * draws));
  CHECK_FALSE(rng{4, 5}.coin(0));
  CHECK(rng{4, 5}.coin(1));
}

TEST_CASE("rng: normal has the mean, variance and tails of the standard normal") {
  rng r{5, 5};
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = r.normal();
    REQUIRE(std::isfinite(x));
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  constexpr double tails = 0.0455003;
  CHECK(std::abs(sum) < most_sigmas * std::sqrt(draws));
  CHECK(std::abs(squares - draws) < most_sigmas * std::sqrt(2.0 * draws));
  CHECK(std::abs(beyond_two - tails * draws) < most_sigmas * std::sqrt(tails * draws));
}

TEST_CASE("rng: neighbouring streams and sample keys share no words and do not correlate") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t stream : {0ULL, 1ULL, 2ULL, 1ULL << 32, 2ULL << 32})
    for (std::uint64_t sample_key : {0ULL, 1ULL, 2ULL, 1ULL << 32, 2ULL << 32}) {
      rng r{stream, sample_key};
      for (int i = 0; i < 16; ++i)
        CHECK(seen.insert(r.bits64()).second);
    }
  CHECK(std::abs(correlation_sigmas({1, 1}, {1, 2})) < most_sigmas);
  CHECK(std::abs(correlation_sigmas({1, 1}, {2, 1})) < most_sigmas);
  CHECK(std::abs(correlation_sigmas({1, 1}, {1, 1ULL << 32 | 1})) < most_sigmas);
  CHECK(std::abs(correlation_sigmas({1, 1}, {1ULL << 32 | 1, 1})) < most_sigmas);
}

} // namespace leat::rng_test
