#include <leat/function_types.hpp>
#include <leat/tokenize.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// A map with what it does to single texts.
struct tokens_value : map_value {
  token_encoder by;
};

nb::object array_of(std::vector<std::uint32_t> tokens) {
  auto kept = std::make_unique<std::vector<std::uint32_t>>(std::move(tokens));
  auto* const data = kept->data();
  const auto size = kept->size();
  nb::capsule owner{kept.get(),
                    [](void* x) noexcept { delete static_cast<std::vector<std::uint32_t>*>(x); }};
  kept.release(); // NOLINT(bugprone-unused-return-value): the capsule has it
  return nb::cast(nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<1>>(data, {size}, owner));
}

std::string_view text_in(const nb::str& x) {
  Py_ssize_t size = 0;
  const auto* const text = PyUnicode_AsUTF8AndSize(x.ptr(), &size);
  if (text == nullptr)
    throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

void bind_tokens(nb::module_& m) {
  nb::class_<tokens_value, map_value>(
      m, "TokenizeStage", nb::type_slots(garbage_slots<tokens_value>),
      "What leat.tokenize makes: a map, and what it does to single texts.")
      .def(
          "encode",
          [](const tokens_value& x, const nb::str& text) {
            const auto of = text_in(text);
            std::vector<std::uint32_t> tokens;
            {
              const nb::gil_scoped_release released;
              tokens = x.by.encode(of);
            }
            return array_of(std::move(tokens));
          },
          "text"_a, nb::sig("def encode(self, text: str) -> numpy.typing.NDArray[numpy.uint32]"),
          "The tokens of a text. Other threads run meanwhile.")
      .def(
          "encode_batch",
          [](const tokens_value& x, const std::vector<nb::str>& texts) {
            std::vector<std::string_view> all;
            for (const auto& text : texts)
              all.push_back(text_in(text));
            std::vector<std::vector<std::uint32_t>> tokens(all.size());
            {
              const nb::gil_scoped_release released;
              for (std::size_t i = 0; i < all.size(); ++i)
                tokens[i] = x.by.encode(all[i]);
            }
            nb::list result;
            for (auto& each : tokens)
              result.append(array_of(std::move(each)));
            return result;
          },
          "texts"_a,
          nb::sig("def encode_batch(self, texts: collections.abc.Sequence[str]) -> "
                  "list[numpy.typing.NDArray[numpy.uint32]]"),
          "The tokens of each text, in one thread.")
      .def(
          "decode",
          [](const tokens_value& x, const std::vector<std::uint32_t>& tokens) {
            const auto bytes = x.by.decode(tokens);
            return nb::steal<nb::str>(PyUnicode_DecodeUTF8(
                bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
          },
          "tokens"_a, nb::sig("def decode(self, tokens: collections.abc.Iterable[int]) -> str"),
          "The text of tokens, special ones included; what is not UTF-8 as U+FFFD. Spaces that the "
          "tokenizer puts before a text stay.");
  m.def(
      "_tokenize_content",
      [](const std::string& name, const nb::bytes& content, std::string field, std::string into,
         dtype type, bool add_special_tokens, std::optional<std::uint64_t> max_tokens,
         bool keep_text, bool encode_special_tokens, std::string encoding,
         bool has_nearest_numbers) {
        auto by = token_encoder::of_content(name, {content.c_str(), content.size()},
                                            {std::move(field), std::move(into), type,
                                             add_special_tokens, max_tokens, keep_text,
                                             encode_special_tokens, std::move(encoding)},
                                            has_nearest_numbers);
        auto stage = by.stage();
        return tokens_value{{std::move(stage)}, std::move(by)};
      },
      "name"_a, "content"_a, "field"_a, "into"_a, "dtype"_a, "add_special_tokens"_a,
      "max_tokens"_a.none(), "keep_text"_a, "encode_special_tokens"_a, "encoding"_a,
      "has_nearest_numbers"_a, "leat.tokenize calls it.");
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
  bind_tokens(m);
  bind_all(m, function_types::predicates());
  bind_all(m, function_types::flat_maps());
  bind_all(m, function_types::scans());
}

} // namespace leat::python
