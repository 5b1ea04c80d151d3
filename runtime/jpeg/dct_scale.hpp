#pragma once

#include "runtime/jpeg/jpeg_frame.hpp"
#include "runtime/pixels/resize_plan.hpp"

#include <cstddef>

namespace leat {

/// Samples that are decoded for a pixel that is made, at least, in each direction, in halves.
inline constexpr std::size_t dct_ratio_halves = 3;

/// How small a JPEG is decoded of which such pixels are made, in eighths of its size: 8, 4, 2 or 1.
/// What is decoded stays larger than what is made of it, in both directions, so far that pixels are
/// nearly those of the whole image. Depends on nothing else, so that all ways of decoding agree.
std::size_t dct_scale_for(const resize_plan& what) noexcept;

/// What a frame is when it is decoded so small. Components of fewer samples are scaled less, up to
/// the size of the others, as libjpeg does (jpeg_calc_output_dimensions in jdmaster.c).
jpeg_frame scaled(jpeg_frame frame, std::size_t eighths) noexcept;

} // namespace leat
