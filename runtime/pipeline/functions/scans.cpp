#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"

#include <leat/functions.hpp>

#include <utility>

namespace leat {

namespace {

/// States and results are one number in 8 bytes, little-endian.
std::string bytes_of(std::uint64_t x) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(x >> shift);
  return bytes;
}

/// 0 for no bytes: the state before the first sample, and the contribution of a bad sample.
std::uint64_t number_in(std::string_view bytes) {
  std::uint64_t x = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 8; ++i)
    x |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return x;
}

/// Puts the number into a field.
auto setter(const std::string& into) {
  return [into](sample& x, std::string_view result) {
    x.set(into, static_cast<std::int64_t>(number_in(result)));
  };
}

} // namespace

scan_stage running_count(const std::string& into) {
  const auto type = function_types::running_count();
  scan_function function{.look = [](sample&) { return std::string{}; }, .apply = setter(into)};
  return {.name = type.name,
          .parameters = parameters_of(type, into),
          .make = everywhere(std::move(function)),
          .initial = bytes_of(0),
          .step = [](std::string& state, std::string_view) {
            return std::exchange(state, bytes_of(number_in(state) + 1));
          }};
}

scan_stage running_sum(const std::string& field, const std::string& into) {
  const auto type = function_types::running_sum();
  scan_function function{.look = [=](sample& x) { return bytes_of(integer_of(x, field)); },
                         .apply = setter(into)};
  return {.name = type.name,
          .parameters = parameters_of(type, field, into),
          .make = everywhere(std::move(function)),
          .initial = bytes_of(0),
          .step = [](std::string& state, std::string_view looked) {
            return state = bytes_of(number_in(state) + number_in(looked));
          }};
}

} // namespace leat
