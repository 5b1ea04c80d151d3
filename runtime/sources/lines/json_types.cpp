#include "runtime/sources/lines/json_types.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"

namespace leat {

namespace {

constexpr auto bytes = "bytes";

} // namespace

json_types::json_types(const std::map<std::string, std::string>& of, const std::string& stage) {
  for (const auto& [name, text] : of) {
    type x;
    if (text != bytes)
      x = parse_dtype(text, stage);
    if (x == dtype::f16 || x == dtype::bf16)
      refuse_argument(stage, "type " + text + " of field " + excerpt(name),
                      "a type without 16-bit floats: f32, and a cast on the device");
    types_.emplace(name, x);
  }
}

std::vector<std::string> json_types::texts() const {
  std::vector<std::string> all;
  for (const auto& [name, x] : types_)
    all.push_back(name + ':' + (x ? std::string{to_string(*x)} : bytes));
  return all;
}

std::map<std::string, std::string> json_types_in(const std::vector<std::string>& texts,
                                                 const std::string& stage) {
  std::map<std::string, std::string> all;
  for (const auto& text : texts) {
    const auto colon = text.rfind(':'); // a name may have one, too
    if (colon == std::string::npos)
      refuse_argument(stage, excerpt(text), "FIELD:TYPE, such as \"score:f64\"");
    const auto name = text.substr(0, colon);
    if (!all.emplace(name, text.substr(colon + 1)).second)
      refuse_argument(stage, "field " + excerpt(name) + " twice", "one type per field");
  }
  return all;
}

} // namespace leat
