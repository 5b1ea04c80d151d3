#pragma once

#include "runtime/storage/file_set.hpp"

#include <leat/sources.hpp>
#include <leat/stored_source.hpp>

#include <memory>

namespace leat {

/// The samples of tar shards. `in`: where `index_dir` may lie. Throws what `tar_shards` throws on
/// opening.
std::shared_ptr<const stored_source> open_tar_source(file_set files, const tar_options& options,
                                                     const store_set& in = *process_stores());

} // namespace leat
