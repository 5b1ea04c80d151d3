// Any bytes are a good line of JSON exactly where another parser finds an object in them, with the
// same members; and so is any value within one. Texts are tried with every byte as it stands, and
// lie between bytes that look as if they belonged to them.
#include "runtime/sources/lines/json_fields.hpp"

#include <leat/bad_sample.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace {

using leat::sample;
using nlohmann::json;

void require(bool holds, const char* what, std::string_view line) {
  if (holds)
    return;
  std::fprintf(stderr, "%s: \"%.*s\"\n", what, static_cast<int>(line.size()), line.data());
  std::abort();
}

std::size_t depth_of(const json& x) {
  std::size_t deepest = 0;
  for (const auto& inner : x)
    if (inner.is_structured())
      deepest = std::max(deepest, depth_of(inner));
  return deepest + 1;
}

bool is_integer(const json& x) {
  return x.is_number_integer()
         && (!x.is_number_unsigned()
             || x.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
}

template <class T>
bool has_elements(const sample& s, const std::string& name, const json& x) {
  const auto elements = s.view<T, 1>(name);
  if (elements.extent(0) != x.size())
    return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (elements[i] != x[i].get<T>())
      return false;
  return true;
}

bool is_field(const sample& s, const std::string& name, const json& x) {
  const auto all = [&](auto is) { return std::all_of(x.begin(), x.end(), is); };
  if (x.is_string())
    return s.text(name) == x.get_ref<const std::string&>();
  if (x.is_boolean())
    return s.get<std::uint8_t>(name) == static_cast<std::uint8_t>(x.get<bool>());
  if (is_integer(x))
    return s.get<std::int64_t>(name) == x.get<std::int64_t>();
  if (x.is_number())
    return s.get<double>(name) == x.get<double>();
  if (x.is_array() && all(is_integer))
    return has_elements<std::int64_t>(s, name, x);
  if (x.is_array() && all([](const json& inner) { return inner.is_number(); }))
    return has_elements<double>(s, name, x);
  const auto text = s.text(name);
  return !text.empty() && text.front() > ' ' && text.back() > ' ' && json::parse(text) == x;
}

/// How good it is: null is no field, and an integer that int64 cannot hold makes a line bad that is
/// JSON.
enum class verdict { good, unsupported, bad };

verdict verdict_on(std::string_view line, sample& into) {
  const auto bytes = into.scratch(line.size() + leat::json_slack);
  std::memcpy(bytes.data(), line.data(), line.size());
  for (std::size_t i = 0; i < leat::json_slack; ++i)
    bytes[line.size() + i] = static_cast<std::byte>("\n]}\"\\,1"[i % 7]);
  try {
    leat::set_json_fields(bytes.first(line.size()), into);
    return verdict::good;
  } catch (const leat::bad_sample& x) {
    require(!std::string_view{x.what()}.empty(), "no reason", line);
    return x.why() == leat::cause::unsupported ? verdict::unsupported : verdict::bad;
  }
}

bool has_long_number(std::string_view line) {
  std::size_t digits = 0;
  for (const char c : line) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits == 19)
      return true;
  }
  return false;
}

void try_line(std::string_view line) {
  sample s;
  const auto found = verdict_on(line, s);
  const bool good = found != verdict::bad;
  const auto known = json::parse(line, nullptr, false);
  // To the other parser a byte 0 is the end of the text; to JSON it is nothing.
  const bool expected = !known.is_discarded() && known.is_object()
                        && depth_of(known) <= leat::max_json_depth
                        && line.find('\0') == std::string_view::npos;
  require(good == expected, expected ? "a good line was refused" : "a bad line was taken", line);
  if (found != verdict::good) {
    require(!good || has_long_number(line), "an integer that is not too large was refused", line);
    return;
  }
  std::size_t fields = 0;
  for (const auto& [name, value] : known.items()) {
    require(value.is_null() ? !s.has(name) : is_field(s, name, value), "another value", line);
    fields += value.is_null() ? 0 : 1;
  }
  require(s.fields().size() == fields, "other members", line);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  try_line(text);
  try_line("{\"a\":" + text + "}");
  try_line("{\"a\":[[" + text + "],\"" + text + "\"]}");
  return 0;
}
