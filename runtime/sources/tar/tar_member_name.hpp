#pragma once

#include "runtime/sources/tar/tar_reader.hpp"
#include "runtime/storage/passed_over.hpp"

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

/// Empty for a path that is hidden (is_hidden_entry), or whose basename has no dot, or nothing
/// after it.
std::optional<tar_member_name> split_member_path(std::string_view path);

/// Empty for a member that is not a field of a record: it is no plain file, or has no such path. A
/// view of the member's path.
std::optional<tar_member_name> field_of(const tar_member& x);

/// Counts a member that is no field of a record. Directories do not count.
void count_passed_over(const tar_member& x, passed_over& into);

} // namespace leat
