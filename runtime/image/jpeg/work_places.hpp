#pragma once

#include "runtime/image/jpeg/scan_decoder.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace leat {

/// A JPEG's places by work as bytes to keep: 10 a place, after a seal (seal_bytes). `places`: what
/// `survey` found in `file`, the whole JPEG.
std::vector<std::byte> write_work_places(std::span<const std::byte> file,
                                         std::span<const work_place> places);

/// Reads them back: rows of ascending columns from 0 on, which ascend in the scan. False, and
/// nothing, where they are damaged or of another file.
bool read_work_places(std::span<const std::byte> bytes, std::span<const std::byte> file,
                      std::vector<work_place>& to);

/// False where they are damaged, whatever file they are of. Nothing at all is whole.
bool are_whole_work_places(std::span<const std::byte> bytes);

/// The row index in their place, for indexes that have nothing else: a stretch begins with every
/// `mcus_a_place`th MCU. False, and nothing, where these are no places of such a frame.
bool as_work_places(const jpeg_frame& frame, std::span<const scan_place> places,
                    std::vector<work_place>& to);

} // namespace leat
