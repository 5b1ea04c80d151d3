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

group_room& group_room::operator+=(const group_room& x) noexcept {
  bytes += x.bytes;
  images += x.images;
  stretches += x.stretches;
  axis_tiles += x.axis_tiles;
  block_tiles += x.block_tiles;
  row_tiles += x.row_tiles;
  pixel_tiles += x.pixel_tiles;
  words += x.words;
  spans += x.spans;
  weights += x.weights;
  blocks += x.blocks;
  samples += x.samples;
  narrowed += x.narrowed;
  return *this;
}

group_room::copied_places group_room::copied() const noexcept {
  array_placer places;
  places.take(bytes);
  copied_places x{};
  x.images = places.take(images * sizeof(device_image));
  x.stretches = places.take(stretches * sizeof(device_stretch));
  x.axis_tiles = places.take(axis_tiles * sizeof(device_tile));
  x.block_tiles = places.take(block_tiles * sizeof(device_tile));
  x.row_tiles = places.take(row_tiles * sizeof(device_tile));
  x.pixel_tiles = places.take(pixel_tiles * sizeof(device_tile));
  x.end = places.end();
  return x;
}

group_room::made_places group_room::made() const noexcept {
  array_placer places;
  made_places x{};
  x.samples = places.take(samples); // first, so that they may be written before all is known
  x.told = places.take(images * sizeof(std::uint32_t));
  x.tables = places.take(images * sizeof(device_tables));
  x.bits = places.take(stretches * sizeof(device_bits));
  x.words = places.take((words + words_overrun) * sizeof(std::uint32_t));
  x.spans = places.take(spans * sizeof(device_span));
  x.weights = places.take(weights * sizeof(std::int16_t));
  x.coefficients =
      places.take(std::max(blocks * 64 * sizeof(std::int16_t), narrowed * sizeof(std::int16_t)));
  x.end = places.end();
  return x;
}

} // namespace leat
