#include "runtime/image/device/group_room.hpp"

#include "runtime/base/aligned_vector.hpp"
#include "runtime/image/device/huffman_entries.hpp"
#include "runtime/image/device/stuffing.hpp"

#include <algorithm>

namespace leat {

namespace {

/// Puts arrays one after the other.
class array_placer {
public:
  std::size_t take(std::size_t bytes) noexcept {
    const auto begin = end_;
    end_ += round_up(bytes, group_alignment);
    return begin;
  }
  std::size_t end() const noexcept { return end_; }

private:
  std::size_t end_ = 0;
};

} // namespace

group_room::tile_counts& group_room::tile_counts::operator+=(const tile_counts& x) noexcept {
  axis += x.axis;
  block += x.block;
  row += x.row;
  pixel += x.pixel;
  gray += x.gray;
  colour += x.colour;
  return *this;
}

group_room& group_room::operator+=(const group_room& x) noexcept {
  bytes += x.bytes;
  images += x.images;
  stretches += x.stretches;
  tiles += x.tiles;
  words += x.words;
  spans += x.spans;
  weights += x.weights;
  blocks += x.blocks;
  samples += x.samples;
  narrowed += x.narrowed;
  floats += x.floats;
  return *this;
}

group_room::copied_places group_room::copied() const noexcept {
  array_placer places;
  places.take(bytes);
  copied_places x{};
  x.images = places.take(images * sizeof(device_image));
  x.stretches = places.take(stretches * sizeof(device_stretch));
  x.axis_tiles = places.take(tiles.axis * sizeof(device_tile));
  x.block_tiles = places.take(tiles.block * sizeof(device_tile));
  x.row_tiles = places.take(tiles.row * sizeof(device_tile));
  x.pixel_tiles = places.take(tiles.pixel * sizeof(device_tile));
  x.gray_tiles = places.take(tiles.gray * sizeof(device_tile));
  x.colour_tiles = places.take(tiles.colour * sizeof(device_tile));
  x.end = places.end();
  return x;
}

group_room::made_places group_room::made() const noexcept {
  array_placer places;
  made_places x{};
  x.samples = places.take(samples); // first, so that they may be written before all is known
  x.told = places.take(images * sizeof(std::uint32_t));
  x.grays = places.take(images * sizeof(float));
  x.tables = places.take(images * sizeof(device_tables));
  x.bits = places.take(stretches * sizeof(device_bits));
  x.words = places.take((words + words_overrun) * sizeof(std::uint32_t));
  x.spans = places.take(spans * sizeof(device_span));
  x.weights = places.take(weights * sizeof(std::int16_t));
  x.floats = places.take(floats * sizeof(float));
  x.coefficients =
      places.take(std::max(blocks * 64 * sizeof(std::int16_t), narrowed * sizeof(std::int16_t)));
  x.end = places.end();
  return x;
}

} // namespace leat
