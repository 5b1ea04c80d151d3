// Decodes arbitrary bytes, whole and in parts: every failure must be a bad sample.

#include "runtime/image/jpeg/jpeg_decoder.hpp"

#include <leat/bad_sample.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace {

constexpr std::size_t max_pixels = std::size_t{1} << 20; // keeps a run fast

/// Reads each pixel, so that the sanitizer sees what was not written.
unsigned sum(const leat::rgb_view& view) {
  unsigned total = 0;
  for (std::size_t y = 0; y < view.height; ++y)
    for (std::size_t x = 0; x < 3 * view.width; ++x)
      total += view.row(y)[x];
  return total;
}

volatile unsigned sink = 0;

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static leat::jpeg_decoder decoder;
  const auto file = std::as_bytes(std::span{data, size});
  for (const std::size_t share : {1U, 2U, 3U, 7U}) {
    try {
      const auto image = decoder.open(file, max_pixels);
      const std::size_t width = (image.width + share - 1) / share;
      const std::size_t height = (image.height + share - 1) / share;
      decoder.start({(image.width - width) / 2, (image.height - height) / 2, width, height});
      for (auto rows = decoder.next_rows(); rows.height > 0; rows = decoder.next_rows())
        sink = sum(rows);
    } catch (const leat::bad_sample&) {
      // What a damaged file is for.
    }
  }
  return 0;
}
