#include "runtime/base/number_text.hpp"

#include "runtime/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace leat {

namespace {

/// The exponent as written. One that does not fit becomes larger than the number of digits of any
/// text, so that adding the two cannot change its sign.
std::int64_t stated_exponent(std::string_view text) noexcept {
  constexpr std::int64_t beyond_any_text = std::int64_t{1} << 60;
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative || text.starts_with('+') ? 1 : 0);
  std::int64_t x = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), x).ec != std::errc{})
    x = beyond_any_text;
  return is_negative ? -x : x;
}

/// Tells underflow from overflow: std::from_chars reports both as out of range.
bool is_tiny(std::string_view text) noexcept {
  const auto e = std::min(text.find_first_of("eE"), text.size());
  const auto digits = text.substr(0, e);
  const auto point = std::min(digits.find('.'), digits.size());
  const auto first = digits.find_first_of("123456789");
  if (first == std::string_view::npos)
    return true;
  // The power of ten of the first nonzero digit, without the stated exponent.
  const auto own =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) - (first < point ? 1 : 0);
  return own + (e < text.size() ? stated_exponent(text.substr(e + 1)) : 0) < 0;
}

} // namespace

bool read_decimal(std::string_view digits, double& into) noexcept {
  // from_chars also accepts a minus sign, and words such as "inf".
  if (digits.empty() || !(is_digit(digits.front()) || digits.front() == '.'))
    return false;
  const auto* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, into);
  if (stop != end || problem == std::errc::invalid_argument)
    return false;
  if (problem == std::errc::result_out_of_range)
    into = is_tiny(digits) ? 0 : std::numeric_limits<double>::infinity();
  return true;
}

} // namespace leat
