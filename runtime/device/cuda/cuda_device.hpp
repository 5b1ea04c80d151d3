#pragma once

#include "runtime/device/device_calls.hpp"

#include <memory>

namespace leat {

/// Throws `errc::device` if there is no driver for CUDA (libcuda.so.1) here, or one that is too
/// old. Does not start CUDA, which no child of a fork could use then.
void check_cuda_driver();

/// The GPU of that number, by its driver, which CUDA's runtime and torch in this process share.
/// Starts CUDA. Throws `errc::device` that says what is missing: the driver, one that is new
/// enough (both versions), a GPU, one of that number, or a start of CUDA before a fork.
std::shared_ptr<device_calls> open_cuda(int number);

} // namespace leat
