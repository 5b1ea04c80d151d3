#pragma once

#include "runtime/storage/object_store.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// The store that a name belongs to, by its scheme: "https://" and "http://" for web servers; all
/// other names are paths of this machine.
const object_store& store_of(std::string_view name);

/// Opens objects by their names, which belong to one store. Throws `errc::invalid_argument`
/// otherwise, with this `stage`, and what the store throws.
std::shared_ptr<stored_objects> open_named(std::vector<std::string> names,
                                           const std::string& stage);

} // namespace leat
