#pragma once

#include "runtime/sources/folder/folder_files.hpp"

#include <leat/row_index.hpp>
#include <leat/sources.hpp>

#include <memory>
#include <string>
#include <vector>

namespace leat {

/// Finds where the MCU rows of the shards' JPEGs begin, and keeps that in the shards' index files.
/// Reads the JPEGs once, in as many shards at a time as there are cores. Indexes that are complete
/// stay as they are, and so do the shards. If a shard fails, the others are still done; then throws
/// the error of the first: what opening it throws, and `errc::io` if it was replaced meanwhile.
row_index_facts build_row_index(const std::vector<std::string>& shards, const tar_options& options,
                                const row_index_progress& progress,
                                const store_set& in = *process_stores());

/// Builds the row index of a folder's images, by classes in place of shards. Throws
/// `errc::torn_file` if an image has another size than when the folder was listed, and `errc::io`.
row_index_facts build_row_index(const std::shared_ptr<const folder_files>& files,
                                const folder_options& options, const row_index_progress& progress);

} // namespace leat
