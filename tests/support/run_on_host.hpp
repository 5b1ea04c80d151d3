#pragma once

#include "runtime/image/device/kernel_launch.hpp"

namespace leat::test {

/// Runs a kernel for a group whose memory is all the host's: the same bodies, thread by thread.
void run_on_host(kernel which, const device_group& x);

/// All kernels, in their order.
void run_on_host(const device_group& x);

} // namespace leat::test
