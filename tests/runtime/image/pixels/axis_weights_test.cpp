#include "runtime/image/pixels/axis_weights.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <numeric>

namespace leat::axis_weights_test {
namespace {

axis_cut some_cut(std::size_t begin, std::size_t inputs, double scale, std::size_t outputs) {
  return {.begin = begin, .inputs = inputs, .scale = scale, .outputs = outputs};
}

/// The means of groups of `each` adjacent inputs; the last group may have fewer.
std::vector<double> means(const std::vector<double>& inputs, std::size_t each) {
  std::vector<double> result;
  for (std::size_t i = 0; i < inputs.size(); i += each) {
    const auto n = std::min(each, inputs.size() - i);
    const auto from = inputs.begin() + static_cast<std::ptrdiff_t>(i);
    result.push_back(std::accumulate(from, from + static_cast<std::ptrdiff_t>(n), 0.0)
                     / static_cast<double>(n));
  }
  return result;
}

double output(const axis_weights& x, std::size_t i, const std::vector<double>& inputs) {
  double sum = 0;
  for (std::size_t t = 0; t < x.count[i]; ++t)
    sum += x.at(i)[t] * inputs[x.first[i] + t];
  return sum;
}

} // namespace

TEST_CASE("axis_weights: means of neighbours give the outputs of a parabola") {
  std::vector<double> inputs(400);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto x = static_cast<double>(i);
    inputs[i] = 3 + 0.5 * x - 0.002 * x * x;
  }
  for (const std::size_t each : {2, 4, 8}) {
    axis_weights full;
    full.plan(some_cut(37, 301, 301.0 / 9, 9));
    axis_weights folded;
    folded.fold_means(full, each, inputs.size() / each);
    REQUIRE(folded.outputs() == full.outputs());
    for (std::size_t i = 0; i < full.outputs(); ++i)
      CHECK(std::abs(output(folded, i, means(inputs, each)) - output(full, i, inputs)) < 1e-9);
  }
}

TEST_CASE("axis_weights: weights of means add up to 1, and stay within them") {
  for (const std::size_t each : {2, 4, 8})
    for (const std::size_t inputs : {1, 2, 7, 8, 9, 65}) {
      axis_weights full;
      full.plan(some_cut(0, inputs, static_cast<double>(inputs) / 3, 3));
      axis_weights folded;
      const auto count = (inputs + each - 1) / each;
      folded.fold_means(full, each, count);
      CHECK(folded.high() <= count);
      fixed_weights fixed;
      fixed.assign(folded);
      CHECK(fixed.high() <= count);
      for (std::size_t i = 0; i < folded.outputs(); ++i) {
        CAPTURE(each, inputs, i);
        CHECK(std::abs(output(folded, i, std::vector<double>(count, 1.0)) - 1) < 1e-9);
        CHECK(std::accumulate(fixed.at(i), fixed.at(i) + fixed.count[i], 0)
              == 1 << fixed_weights::bits);
      }
    }
}

} // namespace leat::axis_weights_test
