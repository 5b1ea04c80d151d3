#include <leat/function_types.hpp>
#include <leat/tokenize.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

#include <string_view>

namespace leat::python {

namespace {

/// `from` is a word of Python's own.
std::string python_name(std::string_view name) {
  return name == "from" ? "from_" : std::string{name};
}

/// What Python has to know of a parameter; `by_name`: it and those after it are given by name.
template <bool ByName, class T, bool Required>
auto annotations_of(const function_parameter<T, Required>& x, const std::string& name) {
  const auto keyword = [] {
    if constexpr (ByName)
      return std::tuple{nb::kw_only()};
    else
      return std::tuple{};
  }();
  if constexpr (Required)
    return std::tuple_cat(keyword, std::tuple{nb::arg(name.c_str())});
  else
    return std::tuple_cat(keyword, std::tuple{nb::arg(name.c_str()) = x.preset});
}

template <std::size_t Positional, class Make, class... Parameter>
void bind_function(nb::module_& m, const function_type<Positional, Make, Parameter...>& x) {
  const std::string_view name{x.name};
  const auto call = [make = x.make](typename Parameter::type... values) {
    using stage = decltype(make(std::move(values)...));
    return with_functions<stage>{make(std::move(values)...)};
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    // nanobind borrows names until the function is defined.
    const std::array<std::string, sizeof...(I)> names{
        python_name(std::get<I>(x.parameters).name)...};
    std::apply(
        [&](const auto&... annotations) {
          m.def(std::string{name.substr(0, name.find('@'))}.c_str(), call, annotations..., x.about);
        },
        std::tuple_cat(annotations_of<I == Positional>(std::get<I>(x.parameters), names[I])...));
  }
  (std::index_sequence_for<Parameter...>{});
}

template <class Types>
void bind_all(nb::module_& m, const Types& types) {
  std::apply([&](const auto&... x) { (bind_function(m, x), ...); }, types);
}

} // namespace

void bind_functions(nb::module_& m) {
  bind_all(m, function_types::maps());
  m.def(
      "sentencepiece",
      [](const path_text& model, std::string field, std::string into, bool keep_text, bool begin,
         bool end) {
        return map_value{
            sentencepiece(model, {std::move(field), std::move(into), keep_text, begin, end})};
      },
      "model"_a, "field"_a = "text", "into"_a = "tokens", nb::kw_only(), "keep_text"_a = false,
      "begin"_a = false, "end"_a = false,
      "A map that sets `into`, int32, ragged, to the tokens of a text, by a model that "
      "SentencePiece wrote.");
  m.def(
      "_tokenize_content",
      [](const std::string& name, const nb::bytes& content, std::string field, std::string into,
         dtype type, bool add_special_tokens, std::optional<std::uint64_t> max_tokens,
         bool keep_text, bool encode_special_tokens, std::string encoding) {
        return map_value{
            tokenize_content(name, {content.c_str(), content.size()},
                             {std::move(field), std::move(into), type, add_special_tokens,
                              max_tokens, keep_text, encode_special_tokens, std::move(encoding)})};
      },
      "name"_a, "content"_a, "field"_a, "into"_a, "dtype"_a, "add_special_tokens"_a,
      "max_tokens"_a.none(), "keep_text"_a, "encode_special_tokens"_a, "encoding"_a,
      "leat.tokenize calls it.");
  bind_all(m, function_types::predicates());
  bind_all(m, function_types::flat_maps());
  bind_all(m, function_types::scans());
}

} // namespace leat::python
