#include "runtime/pipeline/mix_weights.hpp"
#include "tests/support/test.hpp"

namespace leat::mix_weights_test {
namespace {

using whole = std::vector<std::uint64_t>;

TEST_CASE("weights: decimals become the whole numbers that they are tenths of") {
  CHECK(whole_weights({0.7, 0.2, 0.1}) == whole{7, 2, 1});
  CHECK(whole_weights({0.5, 0.25}) == whole{50, 25});
  CHECK(whole_weights({1.5, 3}) == whole{15, 30});
  CHECK(whole_weights({1e-9, 3e-9}) == whole{1, 3});
  CHECK(whole_weights({1e9, 0.5}).size() == 2);
  CHECK(whole_weights({}).empty());
}

TEST_CASE("weights: whole numbers stay as they are while their sum fits in 32 bits") {
  CHECK(whole_weights({20, 10}) == whole{20, 10});
  CHECK(whole_weights({4294967294.0, 1}) == whole{4294967294, 1});
  CHECK(whole_weights({0, 3, -0.0}) == whole{0, 3, 0});
}

TEST_CASE("weights: ratios that do not fit are rounded, the largest to its part of 2^32 - 1") {
  CHECK(whole_weights({3.2e12, 4e11}) == whole{2147483647, 268435456});
  CHECK(whole_weights({1.0 / 3, 2.0 / 3}) == whole{1073741824, 2147483647});
  CHECK(whole_weights({0.1234567890123, 1}) == whole{265121436, 2147483647});
}

TEST_CASE("weights: what is no weight is refused") {
  const auto refused = [](const std::vector<double>& x) {
    return code_of([&] { (void)whole_weights(x); }) == errc::invalid_argument;
  };
  CHECK(refused({1, -1}));
  CHECK(refused({0, 0}));
  CHECK(refused({1, std::numeric_limits<double>::infinity()}));
  CHECK(refused({1, std::numeric_limits<double>::quiet_NaN()}));
  CHECK(refused({1, 1e-12}));
  CHECK(refused({1e300, 1e-300})); // their ratio is no double
  CHECK_FALSE(refused({1e300, 1e300}));
}

TEST_CASE("weights: a temperature takes the root of the ratios") {
  CHECK(tempered({4, 1}, 1) == whole{4, 1});
  CHECK(tempered({4, 1}, 2) == whole{1 << 20, 1 << 19});
  CHECK(tempered({4, 1}, 0.5) == whole{1 << 20, 1 << 16});
  CHECK(tempered({9, 0}, 3) == whole{1 << 20, 0});
  CHECK(tempered({1000000, 1}, 1e9) == whole{1 << 20, 1048576});
  for (const double x : {0.0, -1.0, std::numeric_limits<double>::infinity()})
    CHECK(code_of([&] { (void)tempered({1}, x); }) == errc::invalid_argument);
  CHECK(code_of([] { (void)tempered({4294967290, 1}, 0.01); }) == errc::invalid_argument);
}

TEST_CASE("weights: a change is read as it is written, with spaces or without") {
  CHECK(text_of({1000, {7, 2, 1}}) == "1000:7,2,1");
  const auto x = parse_weight_change("test", " 12 : 0.5,1e3 , 2");
  CHECK(x.step == 12);
  CHECK(x.weights == std::vector<double>{0.5, 1000, 2});
  for (const auto* text : {"", "5", ":1", "5:", "5:1,", "5:,1", "x:1", "-5:1", "5:1;2", "5:a",
                           "5:+1", "18446744073709551616:1"})
    CHECK(code_of([&] { (void)parse_weight_change("test", text); }) == errc::invalid_argument);
}

TEST_CASE("weights: the phase at a step is the last that has begun") {
  const weight_phases phases{{0, {1}}, {5, {2}}, {9, {3}}};
  CHECK(phase_at(phases, 4)->weights == whole{1});
  CHECK(phase_at(phases, 5)->weights == whole{2});
  CHECK(phase_at(phases, UINT64_MAX)->weights == whole{3});
  CHECK(phase_at({{5, {2}}}, 4) == nullptr);
}

} // namespace
} // namespace leat::mix_weights_test
