#include "runtime/pipeline/functions/field_values.hpp"

#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <leat/bad_sample.hpp>

#include <simdjson.h>

#include <cstring>
#include <string>
#include <type_traits>

namespace leat {

namespace {

[[noreturn]] void wrong_form(std::string_view field, const std::string& needed) {
  throw bad_sample(cause::wrong_shape, "field \"" + std::string{field} + "\" is not " + needed);
}

template <class T>
T scalar(std::span<const std::byte> bytes) {
  T x;
  std::memcpy(&x, bytes.data(), sizeof x);
  return x;
}

/// Reads "12", "-0.5", "+1e3": nothing may surround the number.
double parsed(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  double x = 0;
  if (!read_decimal(text.substr(is_negative || text.starts_with('+') ? 1 : 0), x))
    throw bad_sample(cause::corrupt, excerpt(text) + " is not a decimal number");
  return is_negative ? -x : x;
}

} // namespace

double number_of(const sample& x, std::string_view field) {
  if (x.is_bytes(field))
    return parsed(x.text(field));
  if (x.shape_of(field).rank() != 0)
    wrong_form(field, "a single number");
  return visit_type(x.type_of(field), [&](auto zero) {
    return static_cast<double>(scalar<decltype(zero)>(x.bytes(field)));
  });
}

std::uint64_t integer_of(const sample& x, std::string_view field) {
  constexpr auto needed = "a single integer";
  if (x.is_bytes(field) || x.shape_of(field).rank() != 0)
    wrong_form(field, needed);
  return visit_type(x.type_of(field), [&](auto zero) -> std::uint64_t {
    using type = decltype(zero);
    if constexpr (std::is_integral_v<type>)
      return static_cast<std::uint64_t>(scalar<type>(x.bytes(field)));
    else
      wrong_form(field, needed);
  });
}

std::string_view text_of(const sample& x, std::string_view field) {
  if (!x.is_bytes(field))
    wrong_form(field, "bytes");
  return x.text(field);
}

std::string_view utf8_text_of(const sample& x, std::string_view field) {
  const auto text = text_of(x, field);
  check_utf8(text, field);
  return text;
}

void check_utf8(std::string_view text, std::string_view field) {
  if (simdjson::validate_utf8(text.data(), text.size()))
    return;
  auto rest = text;
  for (std::size_t size = 0; !rest.empty() && (size = utf8_length(rest)) > 0;)
    rest.remove_prefix(size);
  throw bad_sample(cause::corrupt, "field \"" + std::string{field} + "\" is not UTF-8 from byte "
                                       + std::to_string(text.size() - rest.size()) + " on");
}

field_elements elements_of(const sample& x, std::string_view field) {
  if (x.is_bytes(field))
    return {dtype::u8, true, x.bytes(field)};
  if (x.shape_of(field).rank() != 1)
    wrong_form(field, "bytes or a tensor of rank 1");
  return {x.type_of(field), x.is_ragged(field), x.bytes(field)};
}

std::span<std::byte> make_elements(sample& x, std::string_view field, const field_elements& like,
                                   std::size_t size) {
  if (like.is_ragged)
    return {x.make_ragged(field, like.type, size, {}), size * size_of(like.type)};
  return {x.make_tensor(field, like.type, {size}), size * size_of(like.type)};
}

} // namespace leat
