// Changes inputs of targets that read JPEGs. Random bytes seldom have headers that a decoder
// accepts, so inputs begin as written files, and most changes hit what follows the headers: the
// scan, the Huffman tables, the quantisation. No corpus is needed.

#include "tests/support/jpeg_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace leat::test;

struct range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Contents of segments with a marker, up to the first scan; for 0xDA, everything after its header.
range find(std::span<const std::byte> file, int code) {
  const auto at = find_marker(file, code);
  if (at >= file.size())
    return {};
  const auto length =
      std::to_integer<std::size_t>(file[at + 2]) * 256 + std::to_integer<std::size_t>(file[at + 3]);
  const auto end = std::min(file.size(), at + 2 + length);
  if (code == 0xDA)
    return {end, file.size()};
  return {std::min(at + 4, end), end};
}

std::vector<std::byte> new_file(std::mt19937& random, std::size_t max_size) {
  using factors = std::array<int, 4>;
  static constexpr auto samplings = std::to_array(
      {factors{1, 1, 1, 1}, factors{2, 1, 1, 1}, factors{1, 2, 1, 1}, factors{2, 2, 1, 1},
       factors{4, 1, 1, 1}, factors{1, 4, 1, 1}, factors{4, 2, 1, 1}, factors{1, 1, 2, 2},
       factors{2, 2, 2, 1}, factors{3, 1, 1, 1}});
  const auto& sampling = samplings[random() % samplings.size()];
  jpeg_kind kind{.components = random() % 4 == 0 ? 1 : 3,
                 .horizontal = sampling[0],
                 .vertical = sampling[1],
                 .progressive = random() % 16 == 0,
                 .restart = static_cast<unsigned>(random() % 3 == 0 ? 1 + random() % 5 : 0),
                 .quality = static_cast<int>(1 + random() % 100),
                 .optimized = random() % 2 == 0,
                 .other_horizontal = sampling[2],
                 .other_vertical = sampling[3]};
  kind.rgb = kind.components == 3 && random() % 8 == 0;
  for (unsigned most = 64;; most = std::max(1U, most / 2)) {
    auto file = write_jpeg(1 + random() % most, 1 + random() % most, kind, random());
    if (file.size() <= max_size)
      return file;
    if (most == 1)
      return {};
  }
}

/// Changes one part of the file as libFuzzer changes whole inputs; the rest stays.
std::size_t mutate_part(std::uint8_t* data, std::size_t size, std::size_t max_size,
                        const range& part, std::mt19937& random) {
  // In a scan, a few bytes somewhere: a change of its length would move all the rest.
  const auto length = part.end - part.begin;
  const auto begin = part.begin + random() % (length + 1);
  const auto end = std::min(part.end, begin + 1 + random() % 16);
  std::vector<std::uint8_t> bytes(data + begin, data + end);
  const auto room = std::min<std::size_t>(max_size - size, 16);
  const auto before = bytes.size();
  if (before + room == 0)
    return size; // libFuzzer would add a byte
  bytes.resize(before + room + 1);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), before, before + room));
  std::memmove(data + begin + bytes.size(), data + end, size - end);
  std::copy(bytes.begin(), bytes.end(), data + begin);
  return size - before + bytes.size();
}

/// Replaces bytes without moving any.
void overwrite(std::uint8_t* data, const range& part, std::mt19937& random) {
  const auto length = part.end - part.begin;
  for (auto n = 1 + random() % 3; n > 0 && length > 0; --n) {
    auto& byte = data[part.begin + random() % length];
    switch (random() % 4) {
    case 0:
      byte = static_cast<std::uint8_t>(byte ^ 1U << random() % 8);
      break;
    case 1:
      byte = static_cast<std::uint8_t>(random());
      break;
    case 2:
      byte = static_cast<std::uint8_t>(byte + 1 - random() % 3);
      break;
    default:
      std::swap(byte, data[part.begin + random() % length]);
    }
  }
}

void put_marker(std::uint8_t* data, const range& scan, std::mt19937& random) {
  if (scan.end - scan.begin < 2)
    return;
  static constexpr std::uint8_t codes[] = {0x00, 0xFF, 0xD0, 0xD1, 0xD7, 0xD9, 0xDA, 0xC4, 0x01};
  auto* at = data + scan.begin + random() % (scan.end - scan.begin - 1);
  at[0] = 0xFF;
  at[1] = codes[random() % std::size(codes)];
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  const auto file = std::as_bytes(std::span{data, size});
  const bool is_jpeg = size >= 4 && data[0] == 0xFF && data[1] == 0xD8;
  const auto scan = is_jpeg ? find(file, 0xDA) : range{};
  if (scan.begin == 0 || random() % 64 == 0) {
    const auto fresh = new_file(random, max_size);
    std::memcpy(data, fresh.data(), fresh.size());
    return fresh.size();
  }
  switch (random() % 16) {
  case 0:
    return LLVMFuzzerMutate(data, size, max_size);
  case 1:
  case 2:
    overwrite(data, find(file, 0xC4), random); // Huffman tables
    return size;
  case 3:
    overwrite(data, find(file, 0xDB), random); // quantisation
    return size;
  case 4:
    overwrite(data, find(file, 0xC0), random); // sizes and sampling
    return size;
  case 5:
    overwrite(data, {scan.begin - std::min<std::size_t>(scan.begin, 14), scan.begin}, random);
    return size;
  case 6:
    put_marker(data, scan, random);
    return size;
  case 7:
    return scan.begin + random() % (size - scan.begin + 1);
  case 8:
  case 9:
  case 10:
    overwrite(data, scan, random);
    return size;
  default:
    return mutate_part(data, size, max_size, scan, random);
  }
}
