// Decodes arbitrary bytes, as they are and with correct checksums, which let libpng read further:
// every failure must be a bad sample.

#include "runtime/image/png/png_decoder.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/png_writer.hpp"

#include <leat/bad_sample.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

void decode(std::span<const std::byte> file) {
  static leat::png_decoder decoder;
  try {
    decoder.open(file, max_pixels);
    read_pixels(decoder.decode());
  } catch (const leat::bad_sample&) {
    // What a damaged file is for.
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span{data, size});
  decode(bytes);
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  leat::test::repair_checksums(file);
  decode(file);
  return 0;
}
