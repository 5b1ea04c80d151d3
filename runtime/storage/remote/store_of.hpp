#pragma once

#include "runtime/storage/object_store.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// The store that a name belongs to, by its scheme: "https://" and "http://" for web servers,
/// "s3://"; all other names are paths of this machine.
const object_store& store_of(std::string_view name);

/// For errors: what was needed where names belong to several stores.
inline constexpr auto one_store = "files of one store: of this machine, of web servers, or of S3";

/// Opens objects by their names, which belong to one store. Throws `errc::invalid_argument`
/// otherwise, with this `stage`, and what the store throws.
std::shared_ptr<stored_objects> open_named(std::vector<std::string> names,
                                           const std::string& stage);

} // namespace leat
