#include "runtime/storage/cache/block_file.hpp"
#include "tests/fuzz/checks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

using namespace leat;

namespace {

const block_id id{{1, 2}, 3};

/// Whatever a file of a cache has in it: what is taken for a chunk of a block is one by its header.
void read_file(std::span<const std::byte> file, std::size_t size) {
  const auto header = file.first(std::min(file.size(), block_header_bytes));
  const auto checks = block_checks::read(header, id, size);
  if (!checks)
    return;
  check(size > 0 && size <= cache_block_bytes);
  check(!block_checks::read(header, {id.key, id.index + 1}, size));
  check(!block_checks::read(header, id, size + 1));
  const auto block = file.subspan(header.size());
  bool is_right = block.size() == size;
  for (std::size_t at = 0; at < block.size(); at += block_chunk_bytes)
    is_right = checks->fit(at / block_chunk_bytes,
                           block.subspan(at, std::min(block_chunk_bytes, block.size() - at)))
               && is_right;
  if (!is_right)
    return;
  const auto made = block_header(id, block);
  check(block_checks::read(std::as_bytes(std::span{made}), id, size).has_value());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span{data, size});
  read_file(input, size > block_header_bytes ? size - block_header_bytes : size);
  // The input is a block, and then one whose file was changed in a place that it names.
  if (size > 2 && size <= cache_block_bytes) {
    const auto header = block_header(id, input);
    std::vector<std::byte> file(header.size() + size);
    std::memcpy(file.data(), header.data(), header.size());
    std::memcpy(file.data() + header.size(), data, size);
    read_file(file, size);
    check(block_checks::read(std::span{file}.first(block_header_bytes), id, size).has_value());
    const auto at = (std::size_t{data[0]} << 8 | data[1]) % block_header_bytes;
    file[at] ^= static_cast<std::byte>(data[2] | 1U);
    check(!block_checks::read(std::span{file}.first(block_header_bytes), id, size));
  }
  const std::string text{reinterpret_cast<const char*>(data), size};
  if (const auto name = parse_block_name(text))
    check(name_of(*name) == text);
  return 0;
}
