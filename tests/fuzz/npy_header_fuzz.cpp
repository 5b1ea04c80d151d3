#include "runtime/sources/tokens/npy_header.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstdint>
#include <string>

using namespace leat;

namespace {

void read_header(std::span<const std::byte> file) {
  try {
    const auto x = read_npy_header("fuzz", "fuzz.npy", file.size(), read_of(file));
    check(x.record_bytes == size_of(x.type) * x.dims.elements());
    check(x.begin + x.records * x.record_bytes == file.size());
  } catch (const error&) {
    // Most inputs are no arrays.
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span{data, size});
  read_header(input);
  // The input is the text of a header: the first byte says how many bytes follow it.
  if (size == 0 || size > 65535)
    return 0;
  std::string file{"\x93NUMPY\1\0", 8};
  const auto length = size - 1;
  file += static_cast<char>(length & 0xFF);
  file += static_cast<char>(length >> 8);
  file.append(reinterpret_cast<const char*>(data) + 1, length);
  file.append(data[0], 'x');
  read_header(std::as_bytes(std::span{file}));
  return 0;
}
