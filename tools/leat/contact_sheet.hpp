#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat::command {

/// Images side by side, in reading order, eight in a row: a whole batch at a glance. The sheet is
/// grey between them and where there is none.
struct contact_sheet {
  static constexpr std::size_t columns = 8;
  static constexpr std::size_t gap = 2;

  /// `images`: uint8 [height, width, 3] each, at least one.
  contact_sheet(std::size_t image_width, std::size_t image_height,
                std::span<const std::span<const std::uint8_t>> images);

  std::size_t width = 0;
  std::size_t height = 0;
  /// [height, width, 3]
  std::vector<std::uint8_t> pixels;
};

} // namespace leat::command
