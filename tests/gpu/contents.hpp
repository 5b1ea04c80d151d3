#pragma once

#include "tests/gpu/driver.hpp"

#include <cstdint>

namespace leat::gpu_check {

/// Compares what batches have on the device with what they have on the host, in all ways in which a
/// trainer may use and drop them. `batches`: of each way.
void check_contents(const driver& gpu, std::uint64_t batches);

/// Digests, snapshots and positions are those of a loader without a device.
void check_digests(std::uint64_t batches);

/// What a loader says to a device that it cannot have.
void check_refusals();

/// Batches are the same where the driver pins no memory. Whether it does depends on how the
/// program was started: see watched_calls.hpp.
void check_unpinned(const driver& gpu, std::uint64_t batches);

} // namespace leat::gpu_check
