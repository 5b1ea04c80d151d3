#pragma once

#include <leat/tensor_form.hpp>

#include "tools/leat/bench/decode_cases.hpp"

#include <cstdint>
#include <vector>

namespace leat::bench {

/// Prints what the processor does for an image that a device decodes: its time, its allocations and
/// the bytes that go there, beside the time that the processor takes to decode it itself. No kernel
/// runs. The images are those that leat's own decoder takes.
void measure_host_part(const std::vector<const command::decode_case*>& images,
                       const tensor_form& form, std::uint64_t rounds);

} // namespace leat::bench
