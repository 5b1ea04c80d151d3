#include "runtime/pipeline/functions/function_text.hpp"
#include "tests/support/files.hpp"
#include "tests/support/places.hpp"
#include "tests/support/test.hpp"

#include <leat/function_types.hpp>

#include <variant>

namespace leat::function_types_test {
namespace {

/// A preset as documents have it.
template <class T, std::size_t N>
std::string preset_text(const std::array<T, N>& all) {
  std::string text;
  for (const auto& x : all)
    text += (text.empty() ? "[" : ", ") + number_text(x);
  return text + ']';
}
template <class T>
std::string preset_text(const T& x) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, dtype> || has_words<T>)
    return '"' + value_text(x) + '"';
  else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
    return '[' + value_text(x) + ']';
  else
    return value_text(x);
}

template <class T, bool Required>
std::string signature_of(const function_parameter<T, Required>& x) {
  const std::string name = std::is_same_v<T, dtype> ? "type" : x.name;
  if constexpr (Required)
    return name;
  else
    return name + '=' + preset_text(x.preset);
}
template <class T>
std::string signature_of(const preset_parameter<std::optional<T>>& x) {
  return x.name;
}

template <class... T>
std::string signature_of(const required_parameter<std::variant<T...>>& x) {
  return std::string{x.name} + ", type"; // a text says which of the types it is
}

/// "pad@1(field, length, value=0)"
template <std::size_t Positional, class Make, class... Parameter>
std::string signature_of(const function_type<Positional, Make, Parameter...>& x) {
  std::string text;
  std::apply(
      [&](const auto&... each) {
        ((text += (text.empty() ? "" : ", ") + signature_of(each)), ...);
      },
      x.parameters);
  return std::string{x.name} + '(' + text + ')';
}

template <class... Type>
void check_page(const std::string& page, const std::tuple<Type...>& types) {
  CAPTURE(page);
  const auto text = test::content_of(std::string{test::source_dir} + "/docs/operators/" + page);
  std::apply(
      [&](const auto&... x) {
        for (const auto& signature : {signature_of(x)...}) {
          CAPTURE(signature);
          if (signature.size() > 120) // their options stand in a table of their own
            CHECK(has(text, '`' + signature.substr(0, signature.find('('))));
          else
            CHECK(has(text, '`' + signature + '`'));
        }
      },
      types);
}

TEST_CASE("the operators' pages list functions with their parameters and presets") {
  check_page("map.md", function_types::maps());
  check_page("filter.md", function_types::predicates());
  check_page("flat_map.md", function_types::flat_maps());
  check_page("scan.md", function_types::scans());
}

TEST_CASE("a text has a parameter that came later only where it is changed") {
  const auto type = function_types::key_matches();
  CHECK(parameters_of(type, "*", false) == "pattern=*");
  CHECK(parameters_of(type, "*", true) == "pattern=* invert=true");
}

} // namespace
} // namespace leat::function_types_test
