#pragma once

#include "runtime/image/device/block_transform.hpp"
#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/entropy.hpp"
#include "runtime/image/device/huffman_entries.hpp"
#include "runtime/image/device/on_both.hpp"
#include "runtime/image/device/output_weights.hpp"
#include "runtime/image/device/resampling.hpp"

#include <cstddef>
#include <cstdint>

namespace leat {

// What one thread of each kernel does. Removing stuffing, which a whole warp does, is in
// stuffing.hpp.

/// Any threads may tell the same.
LEAT_ON_BOTH inline void tell(const device_group& group, std::uint32_t image, device_finding what) {
#if defined(__CUDA_ARCH__)
  atomicOr(group.told + image, static_cast<std::uint32_t>(what));
#else
  group.told[image] |= static_cast<std::uint32_t>(what);
#endif
}

LEAT_ON_BOTH inline void clear_some(const device_group& group, std::uint32_t thread,
                                    std::uint32_t threads) {
  auto* coefficients = reinterpret_cast<eight_coefficients*>(group.coefficients);
  const std::size_t many = static_cast<std::size_t>(group.num_blocks) * 8;
  for (std::size_t i = thread; i < many; i += threads)
    coefficients[i] = {};
  for (std::uint32_t i = thread; i < group.num_images; i += threads)
    group.told[i] = 0;
}

/// `codes`: DC 0, DC 1, AC 0, AC 1 of the image.
LEAT_ON_BOTH inline void make_tables(const device_group& group, std::uint32_t image,
                                     const device_huffman* codes, std::uint32_t thread,
                                     std::uint32_t threads) {
  device_tables& to = group.tables[image];
  for (std::uint32_t t = 0; t < 4; ++t)
    make_entries(codes[t], t, thread, threads, to);
  if (thread < device_tables::most_blocks)
    make_block(group.images[image], thread, to);
}

LEAT_ON_BOTH inline void make_weights(const device_group& group, std::uint32_t tile_number,
                                      std::uint32_t thread) {
  const device_tile tile = group.axis_tiles[tile_number];
  const device_axis& axis = group.images[tile.image].axes[tile.part];
  const std::uint32_t output = tile.number * device_tiles::axis + thread;
  const std::size_t first = output * std::size_t{axis.taps};
  if (output < axis.outputs)
    group.spans[axis.spans + output] =
        output_weights(axis, output).write(group.weights + axis.weights + first);
}

LEAT_ON_BOTH inline void decode_one(const device_group& group, std::uint32_t number) {
  if (number >= group.num_stretches)
    return;
  const device_stretch& stretch = group.stretches[number];
  if (!decode_stretch(stretch, group.images[stretch.image], group.tables[stretch.image],
                      group.bits[number], group.words, group.coefficients))
    tell(group, stretch.image, device_finding::scan);
}

LEAT_ON_BOTH inline void transform_one(const device_group& group, std::uint32_t tile_number,
                                       std::uint32_t thread) {
  const device_tile tile = group.block_tiles[tile_number];
  const device_component& component = group.images[tile.image].components[tile.part];
  const std::uint32_t block = tile.number * device_tiles::blocks + thread;
  if (block < component.columns * component.rows
      && !transform_block(component, block, group.coefficients, group.samples))
    tell(group, tile.image, device_finding::overflow);
}

} // namespace leat
