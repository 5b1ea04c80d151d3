#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// What a tar member's path says about it: the record that it belongs to, and its field.
struct tar_member_name {
  /// The path, without a leading "./", up to the first dot of its basename. A view of the path.
  std::string_view key;
  /// What follows the dot, in lower case.
  std::string field;
};

/// Empty for a member that is not a field of a record: its basename begins with a dot, has none, or
/// has nothing after it.
std::optional<tar_member_name> split_member_path(std::string_view path);

} // namespace leat
