#include "runtime/base/exception_text.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/option_words.hpp"

#include <leat/pipeline.hpp>

#include <utility>

namespace leat {

namespace {

/// Sums of weights stay below this, so that a product with a count of samples fits in 128 bits.
constexpr auto weight_limit = std::uint64_t{1} << 32;

void check_weights(const std::vector<std::uint64_t>& weights, std::size_t inputs) {
  if (!weights.empty() && weights.size() != inputs)
    refuse_argument("mix.weights", std::to_string(weights.size()),
                    std::to_string(inputs) + ", one an input; or none");
  std::uint64_t sum = 0;
  for (const auto x : weights) {
    if (x == 0 || x >= weight_limit - sum)
      refuse_argument("mix.weights", std::to_string(x), "at least 1 each, below 2^32 together");
    sum += x;
  }
}

} // namespace

pipeline zip(std::vector<pipeline> inputs) {
  return pipeline::join({.op = "zip"}, std::move(inputs));
}

pipeline concat(std::vector<pipeline> inputs) {
  return pipeline::join({.op = "concat"}, std::move(inputs));
}

pipeline mix(std::vector<pipeline> inputs, mix_options options) {
  check_weights(options.weights, inputs.size());
  return pipeline::join({.op = "mix",
                         .options = {{"weights", std::move(options.weights)},
                                     {"rule", word_of(options.rule, mix_rules)},
                                     {"stop", word_of(options.stop, mix_stops)},
                                     {"cost", std::move(options.cost)},
                                     {"seed", options.seed}}},
                        std::move(inputs));
}

} // namespace leat
