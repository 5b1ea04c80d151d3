#pragma once

#include <leat/pipeline.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leat::command {

/// What a loader is measured against: the same records in the same order through the same kernels
/// into memory, as many threads, and nothing else. Makes rows 0 .. rows-1 of the job, epoch behind
/// epoch, and returns how long it took. Throws what a stage throws.
std::chrono::nanoseconds bare_loop(const pipeline& job, std::uint64_t rows, std::size_t threads);

} // namespace leat::command
