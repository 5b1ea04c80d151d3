#include "runtime/image/device/kernel_launch.hpp"

#include "runtime/image/device/stuffing.hpp"

#include <algorithm>

namespace leat {

namespace {

constexpr unsigned blocks_for(std::uint32_t threads, unsigned a_block) {
  return (threads + a_block - 1) / a_block;
}

} // namespace

const char* name_of(kernel x) noexcept {
  constexpr std::array<const char*, num_kernels> names{
      "leat_clear",     "leat_tables", "leat_unstuff", "leat_weights", "leat_decode",
      "leat_transform", "leat_narrow", "leat_pixels",  "leat_grays",   "leat_colours"};
  return names[static_cast<std::size_t>(x)];
}

std::vector<kernel_launch> launches_of(const device_group& x) {
  using tiles = device_tiles;
  constexpr unsigned most_clearing = 1024;                 // blocks, which take turns
  const auto sixteenths = x.num_blocks * 8 + x.num_images; // bytes of coefficients, at least
  std::vector<kernel_launch> all{
      {kernel::clear,
       {std::min(blocks_for(sixteenths, tiles::clearing), most_clearing), 1, 1},
       tiles::clearing,
       0},
      {kernel::tables, {x.num_stretches > 0 ? x.num_images : 0, 1, 1}, tiles::tables, 0},
      {kernel::unstuff,
       {blocks_for(x.num_stretches, tiles::unstuffed), 1, 1},
       tiles::unstuffed * warp_lanes,
       0},
      {kernel::weights, {x.num_axis_tiles, 1, 1}, tiles::axis, 0},
      {kernel::decode, {blocks_for(x.num_stretches, tiles::decoded), 1, 1}, tiles::decoded, 0},
      {kernel::transform, {x.num_block_tiles, 1, 1}, tiles::blocks, 0},
      {kernel::narrow, {x.num_row_tiles, 1, 1}, tiles::columns, 0},
      {kernel::pixels, {x.num_pixel_tiles, 1, 1}, tiles::pixel_threads, 0},
  };
  if (x.num_gray_tiles > 0)
    all.push_back({kernel::grays, {x.num_gray_tiles, 1, 1}, tiles::grays, 0});
  if (x.num_colour_tiles > 0)
    all.push_back({kernel::colours, {x.num_colour_tiles, 1, 1}, tiles::colours, 0});
  std::erase_if(all, [](const auto& one) { return one.grid[0] == 0; }); // planes by others
  return all;
}

} // namespace leat
