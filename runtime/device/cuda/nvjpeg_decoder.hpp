#pragma once

#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/device_jpegs.hpp"

#include <memory>

namespace leat {

/// nvJPEG on a GPU; both arguments outlive it. Throws `errc::device` that says why it cannot: no
/// library, one that is newer than the driver, a GPU that it does not know.
std::unique_ptr<device_jpegs> open_nvjpeg(const cuda_context& context, device_calls& calls);

} // namespace leat
