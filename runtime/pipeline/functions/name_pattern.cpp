#include "runtime/pipeline/functions/name_pattern.hpp"

#include <cstddef>
#include <optional>

namespace leat {

namespace {

/// Takes the first byte off a text that is not empty.
unsigned char take(std::string_view& text) {
  const auto byte = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  return byte;
}

/// The inside of the brackets that a pattern begins with; nothing if it does not begin with any.
std::optional<std::string_view> set_of(std::string_view pattern) {
  if (!pattern.starts_with('['))
    return std::nullopt;
  const std::size_t first = pattern.substr(1).starts_with('!') ? 2 : 1;
  const auto end = pattern.find(']', first + 1);
  if (end == std::string_view::npos)
    return std::nullopt;
  return pattern.substr(1, end - 1);
}

bool is_in(std::string_view set, unsigned char byte) {
  const bool wanted = !set.starts_with('!');
  set.remove_prefix(wanted ? 0 : 1);
  while (!set.empty()) {
    const auto low = take(set);
    auto high = low;
    if (set.size() > 1 && set.front() == '-') {
      set.remove_prefix(1);
      high = take(set);
    }
    if (low <= byte && byte <= high)
      return wanted;
  }
  return !wanted;
}

/// Takes the part that stands for one byte off a pattern; true if it stands for this byte.
bool take_match(std::string_view& pattern, unsigned char byte) {
  if (const auto set = set_of(pattern)) {
    pattern.remove_prefix(set->size() + 2);
    return is_in(*set, byte);
  }
  const auto wanted = take(pattern);
  return wanted == '?' || wanted == byte;
}

} // namespace

bool name_matches(std::string_view pattern, std::string_view text) {
  // The place after the last `*` so far, and the place after what that `*` stands for: where to try
  // again.
  std::optional<std::string_view> behind_star;
  std::string_view retry;
  while (!text.empty() || !pattern.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      behind_star = pattern;
      retry = text;
    } else if (text.empty() || pattern.empty() || !take_match(pattern, take(text))) {
      if (!behind_star || retry.empty())
        return false;
      take(retry);
      pattern = *behind_star;
      text = retry;
    }
  }
  return true;
}

} // namespace leat
