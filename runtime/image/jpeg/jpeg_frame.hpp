#pragma once

#include <leat/resize_plan.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// A Huffman code as a file states it; borrowed. `counts[n]` codes have n bits (1 to 16);
/// `symbols` are theirs, shortest first.
struct huffman_code {
  const std::uint8_t* counts = nullptr;
  const std::uint8_t* symbols = nullptr;
};

/// One component of an image: a plane of samples, in blocks of 8 x 8 coefficients.
struct jpeg_component {
  /// Sampling factors: blocks of the component in an MCU, across and down.
  unsigned across = 1;
  unsigned down = 1;
  /// Samples that a block becomes, across and down: 8, fewer where it is decoded smaller.
  std::size_t samples = 8;
  /// 64 factors, row by row; borrowed.
  const std::uint16_t* quantisation = nullptr;
  huffman_code dc;
  huffman_code ac;

  /// In samples.
  std::size_t mcu_width() const noexcept { return across * samples; }
  std::size_t mcu_height() const noexcept { return down * samples; }
};

/// What a JPEG's headers say of its planes and of its first scan. Borrows from the session that
/// read them.
struct jpeg_frame {
  enum class colours : std::uint8_t { gray, ycc, rgb, other };

  image_size size;
  colours colour = colours::other;
  /// At most four.
  std::size_t num_components = 0;
  std::array<jpeg_component, 4> components;
  /// The highest sampling factors.
  unsigned across = 1;
  unsigned down = 1;
  /// Pixels that a block becomes, across and down, of a component with those factors: 8, or fewer.
  std::size_t samples = 8;
  /// Bytes after the first scan's header.
  std::span<const std::byte> scan;
  /// MCUs from one restart marker to the next; 0: there are none.
  std::size_t restart_interval = 0;
  /// MCU rows that libjpeg decodes at once: of some files with one component, several.
  std::size_t rows_at_once = 1;
  /// 8 bits per sample, sequential Huffman, all components in one scan, in order.
  bool is_plain = false;

  static constexpr std::size_t block = 8;

  std::size_t mcus_across() const noexcept { return units(size.width, block * across); }
  std::size_t mcus_down() const noexcept { return units(size.height, block * down); }
  /// In pixels as they are decoded.
  std::size_t mcu_width() const noexcept { return across * samples; }
  std::size_t mcu_height() const noexcept { return down * samples; }
  /// Samples of a component's plane, as they are coded: those that stand for pixels.
  image_size coded_size(std::size_t component) const noexcept {
    const auto& x = components[component];
    return {units(size.width * x.across, across), units(size.height * x.down, down)};
  }
  /// The size of the plane as it is decoded.
  image_size plane_size(std::size_t component) const noexcept {
    const auto& x = components[component];
    return {units(size.width * x.mcu_width(), across * block),
            units(size.height * x.mcu_height(), down * block)};
  }

private:
  static std::size_t units(std::size_t extent, std::size_t unit) noexcept {
    return (extent + unit - 1) / unit;
  }
};

} // namespace leat
