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

bool is_good(std::string_view line, sample& into) {
  const auto bytes = into.scratch(line.size() + leat::json_slack);
  std::memcpy(bytes.data(), line.data(), line.size());
  for (std::size_t i = 0; i < leat::json_slack; ++i)
    bytes[line.size() + i] = static_cast<std::byte>("\n]}\"\\,1"[i % 7]);
  try {
    leat::set_json_fields(bytes.first(line.size()), into);
    return true;
  } catch (const leat::bad_sample& x) {
    require(!std::string_view{x.what()}.empty(), "no reason", line);
    return false;
  }
}

void try_line(std::string_view line) {
  sample s;
  const bool good = is_good(line, s);
  const auto known = json::parse(line, nullptr, false);
  // To the other parser a byte 0 is the end of the text; to JSON it is nothing.
  const bool expected = !known.is_discarded() && known.is_object()
                        && depth_of(known) <= leat::max_json_depth
                        && line.find('\0') == std::string_view::npos;
  require(good == expected, expected ? "a good line was refused" : "a bad line was taken", line);
  if (!good)
    return;
  require(s.fields().size() == known.size(), "other members", line);
  for (const auto& [name, value] : known.items())
    require(is_field(s, name, value), "another value", line);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  try_line(text);
  try_line("{\"a\":" + text + "}");
  try_line("{\"a\":[[" + text + "],\"" + text + "\"]}");
  return 0;
}
