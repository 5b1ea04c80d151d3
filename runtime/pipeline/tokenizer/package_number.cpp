#include "runtime/pipeline/tokenizer/package_number.hpp"

#include "runtime/base/text.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace leat {

namespace {

constexpr int greatest_power = 308;
/// No exponent that is greater changes anything.
constexpr int most_exponent = 1'000'000;

/// The doubles that are nearest to powers of ten.
double power_of_ten(int exponent) {
  static const auto all = [] {
    std::array<double, greatest_power + 1> powers{};
    for (int i = 0; i <= greatest_power; ++i) {
      const auto text = "1e" + std::to_string(i);
      std::from_chars(text.data(), text.data() + text.size(), powers[static_cast<std::size_t>(i)]);
    }
    return powers;
  }();
  return all[static_cast<std::size_t>(exponent)];
}

double scaled(std::uint64_t digits, int exponent) {
  auto x = static_cast<double>(digits);
  while (exponent < -greatest_power && x != 0) {
    x /= power_of_ten(greatest_power);
    exponent += greatest_power;
  }
  if (x == 0)
    return 0;
  if (exponent > greatest_power)
    return std::numeric_limits<double>::infinity();
  return exponent < 0 ? x / power_of_ten(-exponent) : x * power_of_ten(exponent);
}

/// What stands after the letter `e`.
int exponent_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+'))
    text.remove_prefix(1);
  int value = 0;
  for (const auto c : text)
    value = value < most_exponent ? value * 10 + (c - '0') : value;
  return is_negative ? -value : value;
}

} // namespace

double number_of_package(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative)
    text.remove_prefix(1);
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t digits = 0;
  int exponent = 0;
  bool is_full = false; // no further digit counts
  bool is_fraction = false;
  std::size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || text[at] == '.'); ++at) {
    if (text[at] == '.') {
      is_fraction = true;
      continue;
    }
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    is_full = is_full || digits > most / 10 || (digits == most / 10 && digit > most % 10);
    if (!is_full) {
      digits = digits * 10 + digit;
      exponent -= is_fraction ? 1 : 0;
    } else if (!is_fraction) {
      ++exponent;
    }
  }
  if (at < text.size())
    exponent += exponent_of(text.substr(at + 1));
  const auto x = scaled(digits, exponent);
  return is_negative ? -x : x;
}

} // namespace leat
