#pragma once

#include "runtime/sample/stream_source.hpp"
#include "runtime/sources/lines/json_types.hpp"
#include "runtime/storage/file_set.hpp"

#include <leat/pipeline.hpp>

#include <memory>

namespace leat {

/// The files as a stream of this format, one unit each; `types` are of JSON. Throws
/// `errc::not_found`, `errc::io`.
std::shared_ptr<const stream_source> open_stream(file_format format, file_set files,
                                                 const json_types& types = {});

} // namespace leat
