#pragma once

#include "runtime/image/jpeg/jpeg_frame.hpp"
#include "runtime/image/pixels/plane_resampler.hpp"
#include "runtime/image/pixels/resample_kernels.hpp"

#include <cstddef>

namespace leat {

// What a JPEG's planes are to a resampler.

/// Whether pixels are sums of products of the planes' samples, as they are for all but CMYK.
bool has_planes(const jpeg_frame& frame) noexcept;

/// As libjpeg enlarges a component (jdsample.c): smoothly by two, where it has more than two
/// columns; else by repetition.
plane_form plane_form_of(const jpeg_frame& frame, std::size_t component) noexcept;

/// Colours `other` have no planes to resample.
resample_kernels::colours colour_of(const jpeg_frame& frame) noexcept;

} // namespace leat
