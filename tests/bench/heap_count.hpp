#pragma once

#include <cstdint>

namespace leat::bench {

/// Allocations of this thread since it began, also those of C libraries: programs that link
/// heap_count.cpp have allocation functions that count. Always 0 where the C library is not glibc,
/// and with sanitizers, which bring functions of their own.
std::uint64_t heap_allocations() noexcept;

/// Whether they are counted.
bool counts_heap() noexcept;

} // namespace leat::bench
