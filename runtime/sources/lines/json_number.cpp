#include "runtime/sources/lines/json_number.hpp"

#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace leat {

namespace {

/// Removes the digits at the beginning of `text`, and returns how many there were.
std::size_t take_digits(std::string_view& text) noexcept {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(digits);
  return digits;
}

bool take(std::string_view& text, std::string_view any_of) noexcept {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos)
    return false;
  text.remove_prefix(1);
  return true;
}

template <class T>
bool reads_as(std::string_view integer, T& into) noexcept {
  return std::from_chars(integer.data(), integer.data() + integer.size(), into).ec == std::errc{};
}

enum class number_form { none, integer, other };

number_form form_of(std::string_view text) noexcept {
  take(text, "-");
  const bool begins_with_zero = text.starts_with('0');
  const auto digits = take_digits(text);
  if (digits == 0 || (digits > 1 && begins_with_zero))
    return number_form::none;
  auto form = number_form::integer;
  if (take(text, ".")) {
    form = number_form::other;
    if (take_digits(text) == 0)
      return number_form::none;
  }
  if (take(text, "eE")) {
    form = number_form::other;
    take(text, "+-");
    if (take_digits(text) == 0)
      return number_form::none;
  }
  return text.empty() ? form : number_form::none;
}

} // namespace

std::optional<json_number> read_json_number(std::string_view text) noexcept {
  const auto form = form_of(text);
  if (form == number_form::none)
    return {};
  const bool is_integer = form == number_form::integer;
  std::int64_t integer = 0;
  if (is_integer && reads_as(text, integer))
    return json_number{integer};
  std::uint64_t unsigned_integer = 0;
  if (is_integer && reads_as(text, unsigned_integer))
    return json_number{unsigned_integer};
  const bool is_negative = text.starts_with('-');
  double real = 0;
  if (!read_decimal(text.substr(is_negative ? 1 : 0), real) || std::isinf(real))
    return {};
  return json_number{is_negative ? -real : real, is_integer};
}

} // namespace leat
