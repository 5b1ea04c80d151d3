#include "runtime/base/number_as.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/functions.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace leat {

namespace {

/// Sets all elements in `to`, of type T, to the value.
template <class T>
void fill(std::span<std::byte> to, T value) {
  for (; !to.empty(); to = to.subspan(sizeof value))
    std::memcpy(to.data(), &value, sizeof value);
}

void pad_field(sample& x, const std::string& field, std::uint64_t length, double value) {
  const auto old = elements_of(x, field);
  if (old.size() > length)
    throw bad_sample(cause::too_large, "field \"" + field + "\" has " + std::to_string(old.size())
                                           + " elements, more than " + std::to_string(length));
  visit_type(old.type, [&](auto zero) {
    const auto element = element_of<decltype(zero)>(value, field);
    if (old.size() == length)
      return;
    const auto all = make_elements(x, field, old, length);
    std::copy(old.data.begin(), old.data.end(), all.begin());
    fill(all.subspan(old.data.size()), element);
  });
}

template <class To, class From>
To cast_element(From x, const std::string& field) {
  if constexpr (std::is_integral_v<From> && !std::is_integral_v<To>)
    return static_cast<To>(x); // the nearest
  else
    return element_of<To>(x, field);
}

template <class To>
void set_cast(sample& x, const std::string& field, std::vector<To> elements,
              const sample_access::field_view& like) {
  if (!like.ragged)
    return x.set(field, elements, like.dims);
  shape inner;
  for (auto i = like.dims.rank(); i > 1; --i)
    inner = inner.behind(like.dims[i - 1]);
  x.set_ragged(field, elements, inner);
}

void cast_field(sample& x, const std::string& field, dtype to) {
  const auto from = sample_access::view(x, field);
  if (x.is_bytes(field))
    throw bad_sample(cause::wrong_shape,
                     "field \"" + field + "\" is bytes, and cast@1 takes numbers");
  if (from.type == to)
    return;
  visit_type(from.type, [&](auto of) {
    visit_type(to, [&](auto into) {
      using from_type = decltype(of);
      using to_type = decltype(into);
      std::vector<to_type> all;
      all.reserve(from.bytes.size() / sizeof(from_type));
      for (auto rest = from.bytes; !rest.empty(); rest = rest.subspan(sizeof(from_type))) {
        from_type element; // the field's bytes need not be aligned
        std::memcpy(&element, rest.data(), sizeof element);
        all.push_back(cast_element<to_type>(element, field));
      }
      set_cast(x, field, std::move(all), from);
    });
  });
}

/// How many of the first `most` bytes remain when no character of UTF-8 is cut.
std::size_t whole_characters(std::string_view text, std::size_t most) {
  constexpr std::size_t longest = 4;
  for (std::size_t back = 1; back < longest && back <= most; ++back)
    if (utf8_length(text.substr(most - back)) > back)
      return most - back;
  return most;
}

void truncate_field(sample& x, const std::string& field, std::uint64_t length) {
  const auto old = elements_of(x, field);
  if (old.size() <= length)
    return;
  auto kept = static_cast<std::size_t>(length);
  if (x.is_bytes(field))
    kept = whole_characters(x.text(field), kept);
  const auto first = old.part(0, kept);
  const auto to = make_elements(x, field, first, kept);
  std::copy(first.data.begin(), first.data.end(), to.begin());
}

/// The parts of a concatenation, and what they become.
struct joined_elements {
  std::vector<field_elements> parts;
  /// Their kind.
  field_elements like;
  std::size_t size = 0;
};

joined_elements join(const sample& x, const std::vector<std::string>& fields) {
  joined_elements all;
  for (const auto& field : fields) {
    const auto part = elements_of(x, field);
    if (all.parts.empty())
      all.like = {part.type, part.is_ragged, {}};
    if (part.type != all.like.type)
      throw bad_sample(cause::wrong_shape,
                       "field \"" + field + "\" is " + std::string{to_string(part.type)} + ", \""
                           + fields.front() + "\" is " + std::string{to_string(all.like.type)});
    all.like.is_ragged = all.like.is_ragged || part.is_ragged;
    all.size += part.size();
    all.parts.push_back(part);
  }
  return all;
}

void concatenate(sample& x, const std::vector<std::string>& fields, const std::string& into,
                 const std::optional<std::uint64_t>& between) {
  auto all = join(x, fields);
  std::vector<std::byte> gap;
  if (between) {
    visit_type(all.like.type, [&](auto zero) {
      gap.resize(sizeof zero);
      fill(std::span{gap}, element_of<decltype(zero)>(*between, into));
    });
    all.size += fields.size() - 1;
  }
  auto to = make_elements(x, into, all.like, all.size).begin();
  for (std::size_t i = 0; i < all.parts.size(); ++i) {
    if (i > 0)
      to = std::copy(gap.begin(), gap.end(), to);
    to = std::copy(all.parts[i].data.begin(), all.parts[i].data.end(), to);
  }
}

} // namespace

map_stage cast(const std::string& field, dtype to) {
  const auto type = function_types::cast();
  auto text = parameters_of(type, field, to);
  if (to == dtype::f16 || to == dtype::bf16)
    refuse_argument(type.name, "type=" + std::string{to_string(to)},
                    "a type without 16-bit floats: u8 to i64, f32, f64");
  return {type.name, std::move(text),
          [=] { return [=](sample& x, context&) { cast_field(x, field, to); }; }};
}

map_stage truncate(const std::string& field, std::uint64_t length) {
  const auto type = function_types::truncate();
  return {type.name, parameters_of(type, field, length),
          [=] { return [=](sample& x, context&) { truncate_field(x, field, length); }; }};
}

map_stage drop_fields(std::vector<std::string> fields) {
  const auto type = function_types::drop_fields();
  return {type.name, parameters_of(type, fields), [fields = std::move(fields)] {
            return [fields](sample& x, context&) {
              for (const auto& field : fields)
                x.erase(field);
            };
          }};
}

map_stage concat_fields(std::vector<std::string> fields, const std::string& into,
                        std::optional<std::uint64_t> between) {
  const auto type = function_types::concat_fields();
  return {type.name, parameters_of(type, fields, into, between), [=, fields = std::move(fields)] {
            return [=](sample& x, context&) { concatenate(x, fields, into, between); };
          }};
}

map_stage pad(const std::string& field, std::uint64_t length, double value) {
  const auto type = function_types::pad();
  return {type.name, parameters_of(type, field, length, value),
          [=] { return [=](sample& x, context&) { pad_field(x, field, length, value); }; }};
}

map_stage ragged(const std::string& field) {
  const auto type = function_types::ragged();
  return {type.name, parameters_of(type, field),
          [=] { return [=](sample& x, context&) { sample_access::let_vary(x, field); }; }};
}

map_stage select(std::vector<std::string> fields) {
  const auto type = function_types::select();
  return {type.name, parameters_of(type, fields), [fields = std::move(fields)] {
            return [fields](sample& x, context&) { sample_access::keep(x, fields); };
          }};
}

map_stage rename(std::string from, std::string to) {
  const auto type = function_types::rename();
  return {type.name, parameters_of(type, from, to), [from = std::move(from), to = std::move(to)] {
            return [from, to](sample& x, context&) { sample_access::rename(x, from, to); };
          }};
}

} // namespace leat
