#pragma once

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace leat {

// What leat's own functions share: above all their parameter text, "field=a keep=50", from which
// they are made again.

/// Refuses a field name that could not be written in the text.
inline void check_field_name(const char* function, const std::string& name) {
  if (name.empty() || name.find_first_of(" ,\t\n\v\f\r") != std::string::npos)
    refuse_argument(function, "field " + excerpt(name), "a name without spaces and commas");
}

inline std::string word(std::string_view name, const std::string& value) {
  return std::string{name} + '=' + value;
}
inline std::string word(std::string_view name, std::uint64_t value) {
  return word(name, std::to_string(value));
}
inline std::string word(std::string_view name, double value) {
  return word(name, number_text(value));
}

/// " min=3", or nothing.
template <class T>
std::string word_if(std::string_view name, const T& value) {
  return value ? ' ' + word(name, *value) : std::string{};
}

/// A function without state: each worker gets a copy.
template <class Function>
std::function<Function()> everywhere(Function x) {
  return [x = std::move(x)] { return x; };
}

} // namespace leat
