#include "runtime/sources/tokens/megatron_index.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

using namespace leat;

namespace {

/// The input is an index, of data of this size: it is refused, or its documents lie one after the
/// other in the data.
void read_index(std::span<const std::byte> input, std::uint64_t data_bytes) {
  try {
    const megatron_index index{{.index = "fuzz.idx",
                                .index_bytes = input.size(),
                                .data = "fuzz.bin",
                                .data_bytes = data_bytes},
                               read_of(input)};
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      const auto x = index.document(i);
      check(x.offset == end);
      end += x.tokens * size_of(index.type());
    }
    check(end == data_bytes);
  } catch (const error&) {
    // Most inputs are no index.
  }
}

/// The bytes of the data are those that the lengths of sequences add up to, so that the checks
/// after those of lengths are reached.
std::uint64_t bytes_of_sequences(std::span<const std::byte> index) {
  constexpr std::size_t header = 34;
  std::uint64_t sequences = 0;
  if (index.size() < header)
    return 0;
  std::memcpy(&sequences, index.data() + 18, sizeof sequences);
  std::uint64_t tokens = 0;
  for (std::uint64_t i = 0; i < sequences && header + 4 * (i + 1) <= index.size(); ++i) {
    std::int32_t length = 0;
    std::memcpy(&length, index.data() + header + 4 * i, sizeof length);
    tokens += static_cast<std::uint32_t>(length);
  }
  constexpr std::uint64_t sizes[] = {1, 1, 1, 2, 4, 8, 1, 1, 2};
  return tokens * sizes[std::to_integer<unsigned>(index[17]) % 9];
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span{data, size});
  read_index(input, size);
  std::vector<std::byte> sealed(input.begin(), input.end());
  if (sealed.size() >= 18) {
    std::memcpy(sealed.data(), "MMIDIDX\0\0\1\0\0\0\0\0\0\0", 17);
    read_index(sealed, bytes_of_sequences(sealed));
  }
  return 0;
}
