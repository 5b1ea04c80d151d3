#pragma once

#include <leat/pipeline.hpp>

#include <string>

namespace leat {

// Whether other processes can make rows of a pipeline, known from its operators alone.

/// Why they cannot; empty if they can.
std::string reason_against_lending(const pipeline& x);
/// Whether all that rows of the pipeline read are records of indexed sources, which can be sent.
bool can_send_records(const pipeline& x);

} // namespace leat
