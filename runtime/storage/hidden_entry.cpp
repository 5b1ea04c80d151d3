#include "runtime/storage/hidden_entry.hpp"

#include <algorithm>

namespace leat {

namespace {

bool is_hidden_name(std::string_view name) noexcept {
  if (name.starts_with('.'))
    return name != "." && name != "..";
  return name == "__MACOSX" || name == "@eaDir" || name == "Thumbs.db" || name == "desktop.ini";
}

} // namespace

bool is_hidden_entry(std::string_view path) noexcept {
  while (true) {
    const auto slash = std::min(path.find('/'), path.size());
    if (is_hidden_name(path.substr(0, slash)))
      return true;
    if (slash == path.size())
      return false;
    path.remove_prefix(slash + 1);
  }
}

} // namespace leat
