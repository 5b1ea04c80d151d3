#pragma once

#include "runtime/image/jpeg/scan_decoder.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace leat {

/// Where a JPEG's MCU rows begin, as bytes to keep: 10 a place, and 16 that tell the file and the
/// bytes themselves from others. `file`: the whole JPEG.
std::vector<std::byte> write_row_places(std::span<const std::byte> file,
                                        std::span<const scan_place> places);

/// Reads them back. False, and nothing, where they are damaged or of another file.
bool read_row_places(std::span<const std::byte> bytes, std::span<const std::byte> file,
                     std::vector<scan_place>& to);

/// False where they are damaged, whatever file they are of. Nothing at all is whole.
bool are_whole_row_places(std::span<const std::byte> bytes);

} // namespace leat
