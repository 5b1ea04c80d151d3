#include "runtime/base/number_as.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/functions.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

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

} // namespace

map_stage pad(const std::string& field, std::uint64_t length, double value) {
  constexpr auto name = "pad@1";
  constexpr auto longest = std::uint64_t{std::numeric_limits<std::int32_t>::max()};
  check_field_name(name, field);
  if (length > longest)
    refuse_argument(name, "length=" + std::to_string(length), "at most " + std::to_string(longest));
  auto text = word("field", field) + ' ' + word("length", length) + ' ' + word("value", value);
  return {name, std::move(text),
          [=] { return [=](sample& x, context&) { pad_field(x, field, length, value); }; }};
}

map_stage ragged(const std::string& field) {
  constexpr auto name = "ragged@1";
  check_field_name(name, field);
  return {name, word("field", field),
          [=] { return [=](sample& x, context&) { sample_access::let_vary(x, field); }; }};
}

map_stage select(std::vector<std::string> fields) {
  constexpr auto name = "select@1";
  std::string text;
  for (const auto& x : fields) {
    check_field_name(name, x);
    text += (text.empty() ? "fields=" : ",") + x;
  }
  if (fields.empty())
    refuse_argument(name, "no fields", "at least one");
  return {name, std::move(text), [fields = std::move(fields)] {
            return [fields](sample& x, context&) { sample_access::keep(x, fields); };
          }};
}

map_stage rename(std::string from, std::string to) {
  constexpr auto name = "rename@1";
  check_field_name(name, from);
  check_field_name(name, to);
  auto text = word("from", from) + ' ' + word("to", to);
  return {name, std::move(text), [from = std::move(from), to = std::move(to)] {
            return [from, to](sample& x, context&) { sample_access::rename(x, from, to); };
          }};
}

} // namespace leat
