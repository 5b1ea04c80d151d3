#pragma once

#include <leat/pipeline.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leat::command {

/// What a loader is compared with: the same records in the same order through the same kernels into
/// memory, on as many threads, and nothing else. Makes rows 0 .. rows-1 of the job, epoch after
/// epoch, and returns how long it took. Throws what a map or a source throws.
std::chrono::nanoseconds bare_loop(const pipeline& job, std::uint64_t rows, std::size_t threads);

} // namespace leat::command
