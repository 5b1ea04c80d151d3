#pragma once

#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/device_kernels.hpp"

#include <memory>

namespace leat {

/// leat's kernels, loaded to a GPU whose context outlives them. Throws `errc::device` that says why
/// it cannot run them: no libleat_cuda.so, none for its architecture, a driver that is too old.
std::unique_ptr<device_kernels> load_cuda_kernels(const cuda_context& context);

} // namespace leat
