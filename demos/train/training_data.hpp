#pragma once

#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace leat::train {

/// Side of an image in pixels, and of the grid of means that the model sees.
inline constexpr std::size_t image_size = 96;
inline constexpr std::size_t grid_size = 16;
/// Three colours per cell.
inline constexpr std::size_t num_features = 3 * grid_size * grid_size;

struct data_options {
  /// Tar shards: a path, braces or a glob.
  std::string shards;
  std::uint64_t seed = 0;
  /// Rows of a global batch, over all ranks.
  std::uint64_t global_batch = 64;
  /// Labels are 0 .. classes - 1; any other makes a bad sample.
  std::int64_t classes = 10;
};

/// What the trainer reads, in batches with
/// "image":    float32 [rows, 3, image_size, image_size], a random crop, normalised;
/// "features": float32 [rows, num_features], the image's means over a grid;
/// "label":    int64 [rows].
pipeline training_data(const data_options& options);

} // namespace leat::train
