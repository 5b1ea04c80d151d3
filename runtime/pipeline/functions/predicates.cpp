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
  hash_sieve(const char* function, std::uint64_t keep, std::uint64_t salt)
      : keep_(keep), salt_(salt) {
    if (keep > 100)
      refuse_argument(function, "keep=" + std::to_string(keep), "a percentage: 0 to 100");
  }

  bool operator()(std::span<const std::byte> bytes) const {
    hash_stream hash;
    hash.add(salt_);
    hash.add_raw(bytes);
    __extension__ using uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((uint128{hash.digest64()} * 100) >> 64) < keep_;
  }

  std::string text() const { return word("keep", keep_) + ' ' + word("salt", salt_); }

private:
  std::uint64_t keep_;
  std::uint64_t salt_;
};

} // namespace

filter_stage key_hash(std::uint64_t keep, std::uint64_t salt) {
  constexpr auto name = "key_hash@1";
  const hash_sieve sieve{name, keep, salt};
  return {.name = name, .parameters = sieve.text(), .of_id = [=](std::string_view id) {
            return sieve(std::as_bytes(std::span{id}));
          }};
}

filter_stage key_matches(std::string pattern, bool invert) {
  constexpr auto name = "key_matches@1";
  if (pattern.empty() || pattern.find_first_of(" \t\n\v\f\r") != std::string::npos)
    refuse_argument(name, "pattern " + excerpt(pattern), "a pattern without spaces");
  // Only where it is given: older snapshots have none.
  auto text = word("pattern", pattern) + (invert ? " invert=true" : "");
  return {.name = name,
          .parameters = std::move(text),
          .of_id = [pattern = std::move(pattern), invert](std::string_view id) {
            return name_matches(pattern, id) != invert;
          }};
}

filter_stage field_hash(const std::string& field, std::uint64_t keep, std::uint64_t salt) {
  constexpr auto name = "field_hash@1";
  check_field_name(name, field);
  const hash_sieve sieve{name, keep, salt};
  return {.name = name,
          .parameters = word("field", field) + ' ' + sieve.text(),
          .make = everywhere<predicate>([=](sample& x) { return sieve(x.bytes(field)); })};
}

filter_stage field_between(const std::string& field, std::optional<double> min,
                           std::optional<double> max) {
  constexpr auto name = "field_between@1";
  check_field_name(name, field);
  const bounds<double> within{name, min, max};
  return {.name = name,
          .parameters = word("field", field) + within.text(),
          .make = everywhere<predicate>([=](sample& x) { return within(number_of(x, field)); })};
}

filter_stage bytes_between(const std::string& field, std::optional<std::uint64_t> min,
                           std::optional<std::uint64_t> max) {
  constexpr auto name = "bytes_between@1";
  check_field_name(name, field);
  const bounds<std::uint64_t> within{name, min, max};
  return {.name = name,
          .parameters = word("field", field) + within.text(),
          .make = everywhere<predicate>([=](sample& x) { return within(x.bytes(field).size()); })};
}

filter_stage length_between(const std::string& field, std::optional<std::uint64_t> min,
                            std::optional<std::uint64_t> max) {
  constexpr auto name = "length_between@1";
  check_field_name(name, field);
  const bounds<std::uint64_t> within{name, min, max};
  return {.name = name,
          .parameters = word("field", field) + within.text(),
          .make = everywhere<predicate>(
              [=](sample& x) { return within(elements_of(x, field).size()); })};
}

} // namespace leat
