#pragma once

#include "tests/gpu/driver.hpp"

#include <cstdint>
#include <string>

namespace leat::gpu_check {

struct times_options {
  /// For the file of images.
  std::string directory;
  /// Of a batch; each is f32, 3 x 224 x 224.
  std::uint64_t rows = 256;
  double seconds = 10;
};

/// How long a trainer's calls take, and how fast copies are. Half of the time without any work of
/// the trainer on the GPU, half beside work like that of a large network.
void check_times(const driver& gpu, const times_options& options);

} // namespace leat::gpu_check
