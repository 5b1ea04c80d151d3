#include "runtime/storage/cache/block_file.hpp"

#include "runtime/base/framed_bytes.hpp"
#include "runtime/base/xxh3.hpp"

#include <algorithm>
#include <string_view>

namespace leat {

namespace {

constexpr std::string_view magic_and_version = "LEATBLK1";
constexpr std::size_t sums_at = 40;
constexpr std::size_t sum_at = block_header_bytes - sizeof(std::uint64_t);

std::span<const std::byte> raw_bytes(std::string_view x) {
  return std::as_bytes(std::span{x});
}

std::span<const std::byte> chunk_of(std::span<const std::byte> block, std::size_t chunk) {
  const auto rest = block.subspan(chunk * block_chunk_bytes);
  return rest.first(std::min(rest.size(), block_chunk_bytes));
}

std::size_t chunks_of(std::size_t bytes) {
  return (bytes + block_chunk_bytes - 1) / block_chunk_bytes;
}

/// All before the checksums of chunks.
std::string begin_of_header(const block_id& id, std::size_t bytes) {
  std::string x{magic_and_version};
  append_little_endian(x, id.key.low);
  append_little_endian(x, id.key.high);
  append_little_endian(x, id.index);
  append_little_endian(x, std::uint64_t{bytes});
  return x;
}

} // namespace

std::string block_header(const block_id& id, std::span<const std::byte> block) {
  auto x = begin_of_header(id, block.size());
  for (std::size_t i = 0; i < chunks_of(block.size()); ++i)
    append_little_endian(x, xxh3_64(chunk_of(block, i)));
  x.resize(sum_at);
  append_little_endian(x, xxh3_64(raw_bytes(x)));
  return x;
}

std::optional<block_checks> block_checks::read(std::span<const std::byte> header,
                                               const block_id& id, std::size_t bytes) {
  const std::string_view text{reinterpret_cast<const char*>(header.data()), header.size()};
  if (text.size() != block_header_bytes || bytes == 0 || bytes > cache_block_bytes
      || !text.starts_with(begin_of_header(id, bytes))
      || little_endian_at<std::uint64_t>(text, sum_at)
             != xxh3_64(raw_bytes(text.substr(0, sum_at))))
    return {};
  block_checks x;
  for (std::size_t i = 0; i < chunks_of(bytes); ++i)
    x.sums_[i] = little_endian_at<std::uint64_t>(text, sums_at + i * sizeof(std::uint64_t));
  return x;
}

bool block_checks::fit(std::size_t chunk, std::span<const std::byte> bytes) const noexcept {
  return chunk < sums_.size() && sums_[chunk] == xxh3_64(bytes);
}

} // namespace leat
