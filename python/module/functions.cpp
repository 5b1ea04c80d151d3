#include <leat/functions.hpp>

#include "python/module/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

namespace leat::python {

void bind_functions(nb::module_& m) {
  m.def(
      "select",
      [](std::vector<std::string> fields) { return map_value{leat::select(std::move(fields))}; },
      "fields"_a, "A map that keeps these fields, in this order.");
  m.def(
      "rename",
      [](std::string from, std::string to) {
        return map_value{leat::rename(std::move(from), std::move(to))};
      },
      "from_"_a, "to"_a, "A map that gives a field another name.");
  m.def(
      "ragged", [](const std::string& field) { return map_value{ragged(field)}; }, "field"_a,
      "A map that makes a tensor ragged: its outermost dimension may differ in every sample.");
  m.def(
      "truncate",
      [](const std::string& field, std::uint64_t length) {
        return map_value{truncate(field, length)};
      },
      "field"_a, "length"_a,
      "A map that keeps the first `length` elements of a field, and cuts no character of UTF-8.");
  m.def(
      "drop_fields",
      [](std::vector<std::string> fields) { return map_value{drop_fields(std::move(fields))}; },
      "fields"_a, "A map that removes these fields, where a sample has them.");
  m.def(
      "concat_fields",
      [](std::vector<std::string> fields, const std::string& into,
         std::optional<std::uint64_t> between) {
        return map_value{concat_fields(std::move(fields), into, between)};
      },
      "fields"_a, "into"_a, "between"_a = nb::none(),
      "A map that sets `into` to the elements of these fields, one field after the other, with one "
      "element `between` them if that is given: 10 for a line feed, or a token.");
  m.def(
      "key_hash",
      [](std::uint64_t keep, std::uint64_t salt) { return filter_value{key_hash(keep, salt)}; },
      "keep"_a, "salt"_a = 0, "Keeps about `keep` percent of the samples, by a hash of their ids.");
  m.def(
      "key_matches",
      [](std::string pattern) { return filter_value{key_matches(std::move(pattern))}; },
      "pattern"_a, "Keeps samples whose ids match a pattern of *, ? and [a-z].");
  m.def(
      "field_hash",
      [](const std::string& field, std::uint64_t keep, std::uint64_t salt) {
        return filter_value{field_hash(field, keep, salt)};
      },
      "field"_a, "keep"_a, "salt"_a = 0, "As key_hash, by a hash of the field's bytes.");
  m.def(
      "field_between",
      [](const std::string& field, std::optional<double> min, std::optional<double> max) {
        return filter_value{field_between(field, min, max)};
      },
      "field"_a, "min"_a = nb::none(), "max"_a = nb::none(),
      "Keeps samples whose field is a number within these bounds, both inclusive.");
  m.def(
      "bytes_between",
      [](const std::string& field, std::optional<std::uint64_t> min,
         std::optional<std::uint64_t> max) { return filter_value{bytes_between(field, min, max)}; },
      "field"_a, "min"_a = nb::none(), "max"_a = nb::none(),
      "Keeps samples whose field has a number of bytes within these bounds.");
  m.def(
      "copies", [](std::uint64_t n) { return flat_map_value{copies(n)}; }, "n"_a,
      "Each sample n times.");
  m.def(
      "split",
      [](const std::string& field, std::uint64_t at) { return flat_map_value{split(field, at)}; },
      "field"_a, "at"_a = std::uint64_t{'\n'}, "The parts of a field between bytes of value `at`.");
  m.def(
      "windows",
      [](const std::string& field, std::uint64_t length) {
        return flat_map_value{windows(field, length)};
      },
      "field"_a, "length"_a, "A field in pieces of `length` elements; the last may be shorter.");
  m.def(
      "chunks",
      [](const std::string& field, std::uint64_t length, std::uint64_t overlap) {
        return flat_map_value{chunks(field, length, overlap)};
      },
      "field"_a, "length"_a, "overlap"_a = 0,
      "A field in pieces of `length` elements, each of which begins `overlap` elements before the "
      "end of the one before it; the last may be shorter.");
  m.def(
      "running_count", [](const std::string& into) { return scan_value{running_count(into)}; },
      "into"_a, "Sets `into`: how many samples came before, in the lane and epoch.");
  m.def(
      "running_sum",
      [](const std::string& field, const std::string& into) {
        return scan_value{running_sum(field, into)};
      },
      "field"_a, "into"_a, "Sets `into`: the sum over `field` of all samples up to this one.");
}

} // namespace leat::python
