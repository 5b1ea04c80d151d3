#pragma once

#include "runtime/storage/object_store.hpp"

#include <leat/sources.hpp>
#include <leat/stored_source.hpp>

#include <memory>
#include <string>

namespace leat {

/// The images of a folder in a store. Throws what `image_folder` throws on opening.
std::shared_ptr<const stored_source> open_folder_source(const std::string& directory,
                                                        const folder_options& options,
                                                        const object_store& store);

} // namespace leat
