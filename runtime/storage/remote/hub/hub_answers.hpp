#pragma once

#include "runtime/storage/object_store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// The commit that the facts of a revision name. Throws `errc::io`, of `name`, for anything else.
std::string commit_in_facts(std::string_view json, const std::string& name);

/// The entries of a page of the folder `path`, which is empty for all of the data set. The version
/// of a file is the hash of its content. Throws `errc::io`, of `name`, for anything else.
std::vector<listed_object> entries_in_tree(std::string_view json, const std::string& path,
                                           const std::string& name);

} // namespace leat
