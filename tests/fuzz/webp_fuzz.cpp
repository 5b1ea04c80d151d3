// Decodes arbitrary bytes, and files that libwebp wrote with some bytes changed, as they are and
// with the length in their header made right: every failure must be a bad sample.

#include "runtime/image/webp/webp_decoder.hpp"
#include "tests/fuzz/checks.hpp"

#include <leat/bad_sample.hpp>

#include <webp/encode.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

/// "RIFF", and the length of what follows these bytes.
constexpr std::size_t container_header = 8;

void decode(std::span<const std::byte> file) {
  static leat::webp_decoder decoder;
  try {
    decoder.open(file, max_pixels);
    read_pixels(decoder.decode());
  } catch (const leat::bad_sample&) {
    // What a damaged file is for.
  }
}

void make_length_right(std::span<std::byte> file) {
  if (file.size() < container_header)
    return;
  auto length = file.size() - container_header;
  for (std::size_t i = container_header / 2; i < container_header; ++i, length >>= 8)
    file[i] = static_cast<std::byte>(length & 0xff);
}

/// A whole file, lossy or lossless, with alpha or without; its number of bytes.
std::size_t write_file(std::mt19937& random, std::span<std::uint8_t> into) {
  const auto width = static_cast<int>(1 + random() % 40);
  const auto height = static_cast<int>(1 + random() % 40);
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(4 * width * height));
  for (std::size_t i = 0; i < rgba.size(); ++i)
    rgba[i] = static_cast<std::uint8_t>(i * 3 + random() % 30);
  std::uint8_t* made = nullptr;
  std::size_t size = 0;
  switch (random() % 3) {
  case 0:
    size = ::WebPEncodeLosslessRGBA(rgba.data(), width, height, 4 * width, &made);
    break;
  case 1:
    size = ::WebPEncodeRGBA(rgba.data(), width, height, 4 * width, 60, &made);
    break;
  default:
    size = ::WebPEncodeRGB(rgba.data(), width, height, 3 * width, 60, &made);
  }
  size = std::min(size, into.size());
  std::copy_n(made, size, into.begin());
  ::WebPFree(made);
  return size;
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::mt19937 random{seed};
  if (size < 2 * container_header || random() % 64 == 0)
    return write_file(random, {data, most});
  if (random() % 2 == 0)
    return LLVMFuzzerMutate(data, size, most);
  for (auto n = 1 + random() % 4; n > 0; --n)
    data[random() % size] = static_cast<std::uint8_t>(random());
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span{data, size});
  decode(bytes);
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  make_length_right(file);
  decode(file);
  return 0;
}
