// Decodes arbitrary bytes, whole and in parts: every failure must be a bad sample.

#include "runtime/image/jpeg/jpeg_decoder.hpp"
#include "tests/fuzz/checks.hpp"

#include <leat/bad_sample.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

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
        read_pixels(rows);
    } catch (const leat::bad_sample&) {
      // What a damaged file is for.
    }
  }
  return 0;
}
