#include "runtime/base/text.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/pipeline/functions/bounds.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/pipeline/functions/name_pattern.hpp"

#include <leat/functions.hpp>

#include <span>
#include <utility>

namespace leat {

namespace {

using predicate = std::function<bool(sample&)>;

/// Keeps a share of all byte strings, by their hash.
class hash_sieve {
public:
  hash_sieve(std::uint64_t keep, std::uint64_t salt) : keep_(keep), salt_(salt) {}

  bool operator()(std::span<const std::byte> bytes) const {
    hash_stream hash;
    hash.add(salt_);
    hash.add_raw(bytes);
    __extension__ using uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((uint128{hash.digest64()} * 100) >> 64) < keep_;
  }

private:
  std::uint64_t keep_;
  std::uint64_t salt_;
};

} // namespace

filter_stage key_hash(std::uint64_t keep, std::uint64_t salt) {
  const auto type = function_types::key_hash();
  const hash_sieve sieve{keep, salt};
  return {.name = type.name,
          .parameters = parameters_of(type, keep, salt),
          .of_id = [=](std::string_view id) { return sieve(std::as_bytes(std::span{id})); }};
}

filter_stage key_matches(std::string pattern, bool invert) {
  const auto type = function_types::key_matches();
  if (pattern.empty() || pattern.find_first_of(" \t\n\v\f\r") != std::string::npos)
    refuse_argument(type.name, "pattern " + excerpt(pattern), "a pattern without spaces");
  return {.name = type.name,
          .parameters = parameters_of(type, pattern, invert),
          .of_id = [pattern = std::move(pattern), invert](std::string_view id) {
            return name_matches(pattern, id) != invert;
          }};
}

filter_stage field_hash(const std::string& field, std::uint64_t keep, std::uint64_t salt) {
  const auto type = function_types::field_hash();
  const hash_sieve sieve{keep, salt};
  return {.name = type.name,
          .parameters = parameters_of(type, field, keep, salt),
          .make = everywhere<predicate>([=](sample& x) { return sieve(x.bytes(field)); })};
}

namespace {

/// Keeps samples for which `measured(x, field)` lies within bounds.
template <class T, class Type, class Measure>
filter_stage between(const Type& type, const std::string& field, std::optional<T> min,
                     std::optional<T> max, Measure measured) {
  const bounds<T> within{type.name, min, max};
  return {.name = type.name,
          .parameters = parameters_of(type, field, min, max),
          .make = everywhere<predicate>([=](sample& x) { return within(measured(x, field)); })};
}

} // namespace

filter_stage field_between(const std::string& field, std::optional<double> min,
                           std::optional<double> max) {
  return between(function_types::field_between(), field, min, max, &number_of);
}

filter_stage bytes_between(const std::string& field, std::optional<std::uint64_t> min,
                           std::optional<std::uint64_t> max) {
  return between(function_types::bytes_between(), field, min, max,
                 [](const sample& x, const auto& name) { return x.bytes(name).size(); });
}

filter_stage length_between(const std::string& field, std::optional<std::uint64_t> min,
                            std::optional<std::uint64_t> max) {
  return between(function_types::length_between(), field, min, max,
                 [](const sample& x, const auto& name) { return elements_of(x, name).size(); });
}

} // namespace leat
