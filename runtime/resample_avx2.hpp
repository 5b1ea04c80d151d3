#pragma once

#include "runtime/resample.hpp"

namespace leat {

/// True on a processor, and in a build, with AVX2.
bool has_avx2() noexcept;

/// To be called only where has_avx2(). Elsewhere, the plain ones.
resample_kernels avx2_resample_kernels() noexcept;

} // namespace leat
