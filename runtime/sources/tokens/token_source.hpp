#pragma once

#include "runtime/storage/file_set.hpp"

#include <leat/sources.hpp>
#include <leat/stored_source.hpp>

#include <cstdint>
#include <memory>

// The sources of this folder as values: what their pipelines open.

namespace leat {

/// `leat::tokens`. The arguments have been checked.
std::shared_ptr<const stored_source>
open_token_source(file_set files, dtype type, std::uint64_t length, const token_options& options);

/// `leat::npy`
std::shared_ptr<const stored_source> open_npy_source(file_set files);

/// `leat::megatron`. The files are the indexes, *.idx; each one's data lies beside it.
std::shared_ptr<const stored_source> open_megatron_source(file_set indexes);

} // namespace leat
