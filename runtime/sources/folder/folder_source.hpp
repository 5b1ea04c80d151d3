#pragma once

#include "runtime/sources/folder/folder_files.hpp"

#include <leat/sources.hpp>
#include <leat/stored_source.hpp>

#include <memory>

namespace leat {

/// The images of a folder. Throws what `image_folder` throws on opening.
std::shared_ptr<const stored_source> open_folder_source(std::shared_ptr<const folder_files> files,
                                                        const folder_options& options);

} // namespace leat
