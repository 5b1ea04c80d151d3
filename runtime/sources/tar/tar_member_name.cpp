#include "runtime/sources/tar/tar_member_name.hpp"

namespace leat {

std::optional<tar_member_name> split_member_path(std::string_view path) {
  while (path.starts_with("./"))
    path.remove_prefix(2);
  // npos + 1 is 0: without a directory the basename begins at the start.
  const auto base = path.rfind('/') + 1;
  const auto dot = path.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == path.size())
    return {};
  tar_member_name x{path.substr(0, dot), std::string{path.substr(dot + 1)}};
  for (char& c : x.field)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return x;
}

} // namespace leat
