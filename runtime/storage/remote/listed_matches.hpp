#pragma once

#include "runtime/storage/object_store.hpp"
#include "runtime/storage/passed_over.hpp"

#include <string>
#include <vector>

namespace leat {

/// The objects of a store whose names match a pattern with `*`, `?` and `[...]`, in bytewise order,
/// as glob(3) finds files: no "/" and no leading "." is matched by these. Lists only folders that
/// the pattern names or matches. Throws what the store throws.
std::vector<std::string> listed_matches(const object_store& store, const std::string& pattern,
                                        passed_over& others);

} // namespace leat
