#include "runtime/sources/lines/json_fields.hpp"

#include <leat/bad_sample.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

namespace {

using nlohmann::json;

/// Printing nested values takes stack space for each level.
void check_depth(std::string_view text) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\')
      ++i;
    else if (c == '"')
      in_text = !in_text;
    else if (!in_text && (c == '[' || c == '{') && ++depth > max_json_depth)
      throw bad_sample(cause::too_large,
                       "JSON nested deeper than " + std::to_string(max_json_depth));
    else if (!in_text && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
}

/// The error's text without the library's name for it.
std::string text_of(const json::exception& error) {
  const std::string text = error.what();
  const auto name_end = text.find("] ");
  return name_end == std::string::npos ? text : text.substr(name_end + 2);
}

json parse(std::string_view text) {
  try {
    return json::parse(text);
  } catch (const json::exception& x) {
    throw bad_sample(cause::corrupt, text_of(x));
  }
}

/// Signed, 64 bits: other integers are treated like any other number.
bool is_integer(const json& x) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  return x.is_number_integer() && (!x.is_number_unsigned() || x.get<std::uint64_t>() <= most);
}

bool is_number(const json& x) {
  return x.is_number();
}

/// The shortest digits that read back as the same number, as to_chars finds them; written out for
/// exponents from -4 to 14, always with a point or an exponent.
std::string digits_of(double x) {
  std::array<char, 32> buffer;
  const auto [end, failure] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::scientific);
  std::string_view text{buffer.data(), static_cast<std::size_t>(end - buffer.data())};
  std::string result;
  if (text.starts_with('-')) {
    result = '-';
    text.remove_prefix(1);
  }
  const auto mark = text.find('e');
  const auto exponent = text.substr(mark + 1);
  std::string digits{text.substr(0, mark)};
  if (digits.size() > 1)
    digits.erase(1, 1); // the point
  const int power = std::stoi(std::string{exponent});
  const auto size = static_cast<int>(digits.size());
  if (power < -4 || power > 14) {
    if (size > 1)
      digits.insert(1, ".");
    return result + digits + 'e' + std::string{exponent};
  }
  if (power < 0)
    return result + "0." + std::string(static_cast<std::size_t>(-power - 1), '0') + digits;
  if (power + 1 >= size)
    return result + digits + std::string(static_cast<std::size_t>(power + 1 - size), '0') + ".0";
  return result + digits.insert(static_cast<std::size_t>(power) + 1, ".");
}

/// Prints without spaces, members in bytewise order. nlohmann's own digits of numbers are not
/// always the shortest, so that no other program could print the same.
void append_json(const json& x, std::string& to) {
  if (x.is_number_float()) {
    to += digits_of(x.get<double>());
  } else if (x.is_array()) {
    char before = '[';
    for (const auto& value : x) {
      to += std::exchange(before, ',');
      append_json(value, to);
    }
    to += x.empty() ? "[]" : "]";
  } else if (x.is_object()) {
    char before = '{';
    for (const auto& [name, value] : x.items()) {
      to += std::exchange(before, ',');
      to += json(name).dump() + ':';
      append_json(value, to);
    }
    to += x.empty() ? "{}" : "}";
  } else {
    to += x.dump();
  }
}

template <class T>
void set_array(const std::string& name, const json& values, sample& into) {
  auto elements = into.make<T>(name, shape{values.size()});
  std::transform(values.begin(), values.end(), elements.begin(),
                 [](const json& x) { return x.get<T>(); });
}

void set_field(const std::string& name, const json& x, sample& into) {
  if (x.is_string())
    into.set(name, std::string_view{x.get_ref<const std::string&>()});
  else if (x.is_boolean())
    into.set(name, static_cast<std::uint8_t>(x.get<bool>()));
  else if (is_integer(x))
    into.set(name, x.get<std::int64_t>());
  else if (x.is_number())
    into.set(name, x.get<double>());
  else if (x.is_array() && std::all_of(x.begin(), x.end(), is_integer))
    set_array<std::int64_t>(name, x, into);
  else if (x.is_array() && std::all_of(x.begin(), x.end(), is_number))
    set_array<double>(name, x, into);
  else {
    std::string text;
    append_json(x, text);
    into.set(name, std::string_view{text});
  }
}

} // namespace

void set_json_fields(std::span<const std::byte> line, sample& into) {
  const std::string_view text{reinterpret_cast<const char*>(line.data()), line.size()};
  check_depth(text);
  const auto object = parse(text);
  if (!object.is_object())
    throw bad_sample(cause::corrupt,
                     "the line is a JSON " + std::string{object.type_name()} + ", not an object");
  for (const auto& [name, value] : object.items())
    set_field(name, value, into);
}

} // namespace leat
