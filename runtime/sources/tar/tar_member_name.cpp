#include "runtime/sources/tar/tar_member_name.hpp"

#include "runtime/storage/hidden_entry.hpp"

namespace leat {

namespace {

/// What WebDataset keeps for its own use: `__index__` and others, which have no folder.
bool is_meta(std::string_view path) {
  constexpr std::string_view mark = "__";
  while (path.starts_with("./"))
    path.remove_prefix(2);
  return path.size() > 2 * mark.size() && path.starts_with(mark) && path.ends_with(mark)
         && path.find('/') == std::string_view::npos;
}

passed_over_reason reason_for(const tar_member& x) {
  if (is_hidden_entry(x.path) || is_meta(x.path))
    return passed_over_reason::hidden;
  if (x.regular)
    return passed_over_reason::nameless;
  return x.type == '1'   ? passed_over_reason::hard_link
         : x.type == '2' ? passed_over_reason::symbolic_link
                         : passed_over_reason::special;
}

} // namespace

std::optional<tar_member_name> split_member_path(std::string_view path) {
  while (path.starts_with("./"))
    path.remove_prefix(2);
  // npos + 1 is 0: without a directory the basename begins at the start.
  const auto base = path.rfind('/') + 1;
  const auto dot = path.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == path.size()
      || is_hidden_entry(path))
    return {};
  tar_member_name x{path.substr(0, dot), std::string{path.substr(dot + 1)}};
  for (char& c : x.field)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return x;
}

std::optional<tar_member_name> field_of(const tar_member& x) {
  return x.regular ? split_member_path(x.path) : std::nullopt;
}

void count_passed_over(const tar_member& x, passed_over& into) {
  if (!x.directory)
    into.add(reason_for(x), x.path);
}

} // namespace leat
