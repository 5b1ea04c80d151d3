#pragma once

#include "runtime/base/huge_buffer.hpp"

#include "tools/leat/bench/decode_cases.hpp"

#include <cstddef>
#include <span>

namespace leat::command {

/// Memory for images, written in a circle, as a thread writes a loader's batches.
class image_ring {
public:
  image_ring() : memory_(images * image_bytes) {}
  /// Room for one image of any type.
  std::span<std::byte> next() {
    return {memory_.data() + next_++ % images * image_bytes, image_bytes};
  }

private:
  static constexpr std::size_t images = 64;
  static constexpr std::size_t image_bytes = 3 * pixels_across * pixels_across * sizeof(float);

  huge_buffer memory_;
  std::size_t next_ = 0;
};

} // namespace leat::command
