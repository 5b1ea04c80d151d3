#include "runtime/sources/lines/json_number.hpp"

#include "runtime/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace leat {

namespace {

/// The digits at the beginning, which are removed from `text`.
std::string_view take_digits(std::string_view& text) noexcept {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

bool take(std::string_view& text, std::string_view any_of) noexcept {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos)
    return false;
  text.remove_prefix(1);
  return true;
}

struct parts {
  bool is_integer = true;
  std::string_view whole;
  std::string_view fraction;
  std::string_view exponent;
  bool exponent_is_negative = false;
};

std::optional<parts> split(std::string_view text) noexcept {
  parts x;
  take(text, "-");
  x.whole = take_digits(text);
  if (x.whole.empty() || (x.whole.size() > 1 && x.whole.front() == '0'))
    return {};
  if (take(text, ".")) {
    x.is_integer = false;
    x.fraction = take_digits(text);
    if (x.fraction.empty())
      return {};
  }
  if (take(text, "eE")) {
    x.is_integer = false;
    x.exponent_is_negative = text.starts_with('-');
    take(text, "+-");
    x.exponent = take_digits(text);
    if (x.exponent.empty())
      return {};
  }
  return text.empty() ? std::optional{x} : std::nullopt;
}

/// Of a number that float64 cannot hold: whether that is because it is too near to zero.
bool is_tiny(const parts& x) noexcept {
  const auto not_zero = [](std::string_view digits) {
    return std::min(digits.find_first_not_of('0'), digits.size());
  };
  const auto whole = not_zero(x.whole);
  const auto zeros = not_zero(x.fraction);
  if (whole == x.whole.size() && zeros == x.fraction.size())
    return true;
  // The exponent of the first digit that counts.
  const auto exponent = whole < x.whole.size()
                            ? static_cast<std::int64_t>(x.whole.size() - whole) - 1
                            : -static_cast<std::int64_t>(zeros) - 1;
  std::int64_t stated = 0;
  constexpr std::int64_t beyond_any_line = std::int64_t{1} << 60;
  if (!x.exponent.empty()
      && std::from_chars(x.exponent.data(), x.exponent.data() + x.exponent.size(), stated).ec
             != std::errc{})
    stated = beyond_any_line;
  return exponent + (x.exponent_is_negative ? -stated : stated) < 0;
}

} // namespace

std::optional<json_number> read_json_number(std::string_view text) noexcept {
  const auto found = split(text);
  if (!found)
    return {};
  const auto* end = text.data() + text.size();
  if (found->is_integer) {
    std::int64_t integer = 0;
    if (std::from_chars(text.data(), end, integer).ec == std::errc{})
      return integer;
  }
  double real = 0;
  if (std::from_chars(text.data(), end, real).ec == std::errc{})
    return real;
  if (is_tiny(*found))
    return text.starts_with('-') ? -0.0 : 0.0;
  return {};
}

} // namespace leat
