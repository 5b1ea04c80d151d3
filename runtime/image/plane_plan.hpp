#pragma once

#include "runtime/image/jpeg/jpeg_frame.hpp"
#include "runtime/image/jpeg/plane_decoder.hpp"
#include "runtime/image/pixels/plane_resampler.hpp"

#include <cstddef>

namespace leat {

// What a JPEG's planes are to the resampler, and what the resampler needs of the JPEG.

/// As libjpeg enlarges a component (jdsample.c): smoothly by two, where it has more than two
/// columns; else by repetition.
plane_form plane_form_of(const jpeg_frame& frame, std::size_t component);

/// Colours `other` have no planes to resample.
resample_kernels::colours colour_of(const jpeg_frame& frame);

/// The MCUs that hold what a planned resampler needs of all planes.
mcu_rect mcus_needed(const plane_resampler& of, const jpeg_frame& frame);

} // namespace leat
