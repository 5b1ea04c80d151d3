#include "runtime/pipeline/mix_weights.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

namespace leat {

namespace {

/// Sums of weights stay below this, so that a product with a count of samples fits in 128 bits.
constexpr auto weight_limit = std::uint64_t{1} << 32;

/// What the largest weight becomes under a temperature. So small that a last bit in which two
/// implementations of pow differ is all but sure to make no difference.
constexpr double tempered_scale = 1 << 20;

void check_weights(const std::vector<double>& weights) {
  for (const auto x : weights)
    if (!std::isfinite(x) || x < 0)
      refuse_argument("mix.weights", number_text(x), "a number of at least 0");
  if (std::none_of(weights.begin(), weights.end(), [](double x) { return x > 0; }))
    refuse_argument("mix.weights", "no weight above 0", "at least one");
}

/// A number as `digits` * 10^`power`, with the fewest digits that read back as it.
struct decimal {
  std::uint64_t digits = 0;
  int power = 0;
};

decimal decimal_of(double x) {
  if (x == 0)
    return {}; // it may have a sign
  char buffer[32];
  const auto* end = std::to_chars(std::begin(buffer), std::end(buffer), x,
                                  std::chars_format::scientific)
                        .ptr; // "7e-01", "1.25e+02"
  const auto* mark = std::find(static_cast<const char*>(buffer), end, 'e');
  decimal result;
  bool is_fraction = false;
  for (const auto* at = buffer; at != mark; ++at) {
    if (*at == '.') {
      is_fraction = true;
      continue;
    }
    result.digits = result.digits * 10 + static_cast<std::uint64_t>(*at - '0');
    result.power -= is_fraction ? 1 : 0;
  }
  int exponent = 0;
  const bool has_plus = mark + 1 != end && mark[1] == '+';
  std::from_chars(mark + (has_plus ? 2 : 1), end, exponent);
  result.power += exponent;
  for (; result.digits != 0 && result.digits % 10 == 0; ++result.power)
    result.digits /= 10;
  return result;
}

/// The numbers times the smallest power of ten that makes all of them whole; nothing if their sum
/// reaches the limit.
std::optional<std::vector<std::uint64_t>> exact_weights(const std::vector<double>& weights) {
  std::vector<decimal> decimals;
  int least = 0;
  for (const auto x : weights) {
    decimals.push_back(decimal_of(x));
    if (x > 0)
      least = std::min(least, decimals.back().power);
  }
  std::vector<std::uint64_t> result;
  std::uint64_t sum = 0;
  for (auto x : decimals) {
    for (; x.digits != 0 && x.power > least; --x.power) {
      x.digits *= 10;
      if (x.digits >= weight_limit)
        return std::nullopt;
    }
    if (x.digits >= weight_limit - sum)
      return std::nullopt;
    sum += x.digits;
    result.push_back(x.digits);
  }
  return result;
}

/// What is too small for a double is not 0, and is refused as what it is.
double at_least_something(double x, bool is_something) {
  return is_something ? std::max(x, std::numeric_limits<double>::min()) : 0;
}

/// `parts`: of the largest, from 0 to 1, rounded to `scale` steps.
std::vector<std::uint64_t> rounded_weights(const std::vector<double>& parts, double scale) {
  std::vector<std::uint64_t> result;
  for (const auto x : parts) {
    result.push_back(static_cast<std::uint64_t>(std::nearbyint(x * scale)));
    if (x > 0 && result.back() == 0)
      refuse_argument("mix.weights", "a weight that is " + number_text(x) + " of the largest",
                      "at least " + number_text(1 / scale) + " of it, or 0");
  }
  if (!are_whole_weights(result))
    refuse_argument("mix.weights", std::to_string(parts.size()) + " weights",
                    "so few that their sum stays below 2^32");
  return result;
}

/// A number with spaces around it or without.
template <class T>
std::optional<T> parse_all(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  T x{};
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (failure != std::errc{} || stop != text.data() + text.size())
    return std::nullopt;
  return x;
}

} // namespace

bool are_whole_weights(const std::vector<std::uint64_t>& weights) noexcept {
  std::uint64_t sum = 0;
  for (const auto x : weights) {
    if (x >= weight_limit - sum)
      return false;
    sum += x;
  }
  return sum > 0;
}

std::vector<std::uint64_t> whole_weights(const std::vector<double>& weights) {
  if (weights.empty())
    return {};
  check_weights(weights);
  if (auto exact = exact_weights(weights))
    return *std::move(exact);
  const auto most = *std::max_element(weights.begin(), weights.end());
  std::vector<double> parts;
  parts.reserve(weights.size());
  for (const auto x : weights)
    parts.push_back(at_least_something(x / most, x > 0));
  const std::uint64_t scale = (weight_limit - 1) / weights.size(); // so that their sum stays below
  return rounded_weights(parts, static_cast<double>(scale));
}

std::vector<std::uint64_t> tempered(const std::vector<std::uint64_t>& weights, double temperature) {
  if (!std::isfinite(temperature) || temperature <= 0)
    refuse_argument("mix.temperature", number_text(temperature), "a number above 0");
  if (weights.empty() || temperature == 1)
    return weights;
  const auto most = static_cast<double>(*std::max_element(weights.begin(), weights.end()));
  std::vector<double> parts;
  parts.reserve(weights.size());
  for (const auto x : weights)
    parts.push_back(
        at_least_something(std::pow(static_cast<double>(x) / most, 1 / temperature), x > 0));
  return rounded_weights(parts, tempered_scale);
}

std::string text_of(const weight_phase& x) {
  auto text = std::to_string(x.step);
  char between = ':';
  for (const auto weight : x.weights) {
    text += between + std::to_string(weight);
    between = ',';
  }
  return text;
}

weight_change parse_weight_change(std::string_view stage, std::string_view text) {
  const auto refuse = [&] {
    refuse_argument(std::string{stage}, in_quotes(text),
                    "a step and a weight per input: \"1000:0.7,0.2,0.1\"");
  };
  const auto colon = text.find(':');
  if (colon == std::string_view::npos)
    refuse();
  const auto step = parse_all<std::uint64_t>(text.substr(0, colon));
  if (!step)
    refuse();
  weight_change result{.step = *step};
  for (auto rest = text.substr(colon + 1);;) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto weight = parse_all<double>(rest.substr(0, comma));
    if (!weight)
      refuse();
    result.weights.push_back(*weight);
    if (comma == rest.size())
      return result;
    rest.remove_prefix(comma + 1);
  }
}

weight_phases phases_of(std::vector<std::uint64_t> weights,
                        const std::vector<std::string>& schedule, std::size_t inputs) {
  if (weights.empty())
    weights.assign(inputs, 1);
  weight_phases phases{{0, std::move(weights)}};
  for (const auto& text : schedule) {
    const auto change = parse_weight_change("mix.schedule", text);
    phases.push_back({change.step, whole_weights(change.weights)});
  }
  return phases;
}

const weight_phase* phase_at(const weight_phases& phases, std::uint64_t step) noexcept {
  const auto next =
      std::upper_bound(phases.begin(), phases.end(), step,
                       [](std::uint64_t at, const weight_phase& x) { return at < x.step; });
  return next == phases.begin() ? nullptr : &*std::prev(next);
}

const weight_phase& phase_at(const weight_phases& planned, const weight_phases& changes,
                             std::uint64_t step) noexcept {
  const auto* own = phase_at(planned, step);
  const auto* changed = phase_at(changes, step);
  return changed && changed->step >= own->step ? *changed : *own;
}

} // namespace leat
