#include "runtime/sources/lines/json_refusal.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/sources/lines/json_fields.hpp"

#include <leat/bad_sample.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace leat {

namespace {

/// Brackets count up to where the text ends, whatever else is wrong with it.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\')
      ++i;
    else if (c == '"')
      in_text = !in_text;
    else if (!in_text && (c == '[' || c == '{') && ++depth > max_json_depth)
      return true;
    else if (!in_text && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return false;
}

/// Says where a line is wrong, as simdjson does not.
class refusal final : public nlohmann::json_sax<nlohmann::json> {
public:
  bool null() override { return be("null"); }
  bool boolean(bool) override { return be("boolean"); }
  bool number_integer(number_integer_t) override { return be("number"); }
  bool number_unsigned(number_unsigned_t) override { return be("number"); }
  bool number_float(number_float_t, const string_t&) override { return be("number"); }
  bool string(string_t&) override { return be("string"); }
  bool binary(binary_t&) override { return be("binary"); }
  bool start_object(std::size_t) override { return be("object"); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return be("array"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    const std::string text = problem.what();
    const auto name_end = text.find("] "); // the library's name for it comes before
    problem_ = name_end == std::string::npos ? text : text.substr(name_end + 2);
    // The library counts the lines of what it is given, which is one.
    constexpr std::string_view line = "line 1, ";
    if (const auto at = problem_.find(line); at != std::string::npos)
      problem_.erase(at, line.size());
    return false;
  }

  std::string text() const {
    if (!problem_.empty())
      return problem_;
    return type_ == "object" ? "the line is no JSON"
                             : "the line is a JSON " + std::string{type_} + ", not an object";
  }

private:
  bool be(std::string_view type) {
    if (type_.empty())
      type_ = type;
    return true;
  }

  std::string_view type_;
  std::string problem_;
};

/// Whether one of the names that Python has for numbers stands where JSON has a value.
bool has_number_name(std::string_view text) {
  for (const std::string_view name : {"NaN", "Infinity"})
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      auto before = trimmed(text.substr(0, at));
      if (before.ends_with('-'))
        before = trimmed(before.substr(0, before.size() - 1));
      if (before.ends_with(':') || before.ends_with(',') || before.ends_with('['))
        return true;
    }
  return false;
}

/// Whether the line is a piece of JSON that was laid out for people, or of a list with an object a
/// line. A line that was cut off ends anywhere else.
bool goes_on_in_next_line(std::string_view line) {
  return !line.empty() && (line.front() == '{' || line.front() == '[')
         && (line.back() == '{' || line.back() == '[' || line.back() == ',');
}

/// What the line probably is.
std::string_view kind_of(std::string_view text) {
  const bool has_zeros = text.size() > 2 && text.find('\0') != std::string_view::npos;
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")
      || (has_zeros && (text[0] == '\0' || text[1] == '\0')))
    return "it is UTF-16; needed is UTF-8: iconv -f UTF-16 -t UTF-8 FILE";
  if (goes_on_in_next_line(trimmed(text)))
    return "JSON over several lines; needed is one object a line: jq -c . FILE, or for one list of "
           "objects jq -c '.[]' FILE";
  if (has_number_name(text))
    return "NaN and Infinity, as Python writes them, are no JSON: write null, which is a missing "
           "field (json.dumps(..., allow_nan=False) finds them)";
  return {};
}

} // namespace

void refuse_json(std::string_view line) {
  if (is_too_deep(line))
    throw bad_sample(cause::too_large, "JSON nested deeper than " + std::to_string(max_json_depth));
  refusal reader;
  (void)nlohmann::json::sax_parse(line, &reader);
  auto why = reader.text(); // quotes the line, which may not be UTF-8
  make_utf8(why, 0);
  if (const auto kind = kind_of(line); !kind.empty())
    why = std::string{kind} + " (" + why + ")";
  throw bad_sample(cause::corrupt, why);
}

} // namespace leat
