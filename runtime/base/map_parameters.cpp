#include "runtime/base/map_parameters.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_as.hpp"
#include "runtime/base/text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace leat {

namespace {

/// The parts between all occurrences of `gap`; an empty text has one empty part.
std::vector<std::string_view> split(std::string_view text, char gap) {
  std::vector<std::string_view> parts;
  for (auto end = text.find(gap); end != std::string_view::npos; end = text.find(gap)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

} // namespace

std::optional<std::vector<map_parameter>> split_parameters(std::string_view text) {
  std::vector<map_parameter> result;
  if (text.empty())
    return result;
  std::set<std::string_view> names;
  for (const auto word : split(text, ' ')) {
    const auto name = word.substr(0, word.find('='));
    if (!is_word(name) || name.size() == word.size() || !names.insert(name).second
        || word.find_first_of("\t\n\v\f\r") != std::string_view::npos)
      return std::nullopt;
    result.push_back({std::string{name}, std::string{word.substr(name.size() + 1)}});
  }
  return result;
}

std::vector<std::string> split_list(std::string_view text) {
  if (text.empty())
    return {};
  const auto parts = split(text, ',');
  return {parts.begin(), parts.end()};
}

parameter_reader::parameter_reader(std::string function, std::string_view text)
    : function_(std::move(function)) {
  auto words = split_parameters(text);
  if (!words)
    refuse(excerpt(text), "words name=value, each name once");
  left_ = std::move(*words);
}

std::string parameter_reader::required(const std::string& name) {
  auto value = optional(name);
  if (!value)
    refuse("no " + name, "a value for " + name);
  return std::move(*value);
}

std::optional<std::string> parameter_reader::optional(const std::string& name) {
  known_.push_back(name);
  const auto found =
      std::find_if(left_.begin(), left_.end(), [&](const auto& x) { return x.name == name; });
  if (found == left_.end())
    return std::nullopt;
  auto value = std::move(found->value);
  left_.erase(found);
  return value;
}

void parameter_reader::read(const std::string& name, bool& into) {
  const auto text = optional(name);
  if (text && *text != "true" && *text != "false")
    refuse(name + "=" + *text, "true or false");
  into = text ? *text == "true" : into;
}

bool parameter_reader::is_whole_text(std::string_view text, double read) {
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative ? 1 : 0);
  std::uint64_t whole = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, whole);
  if (failure != std::errc{} || stop != end)
    return true; // a fraction, an exponent, or more digits
  return number_as<std::uint64_t>(is_negative ? -read : read) == whole;
}

void parameter_reader::refuse(const std::string& got, std::string needed) const {
  refuse_argument(function_, got, std::move(needed));
}

void parameter_reader::done() const {
  if (!left_.empty())
    refuse("parameter " + excerpt(left_.front().name), "one of " + listed(known_));
}

} // namespace leat
