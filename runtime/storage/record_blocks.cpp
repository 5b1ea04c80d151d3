#include "runtime/storage/record_blocks.hpp"

#include <leat/error.hpp>

#include <algorithm>

namespace leat {

bool record_blocks::read(const stream_files& from, std::size_t file, std::uint64_t offset,
                         std::span<std::byte> into, const std::stop_token& stop) {
  while (!into.empty()) {
    const auto* x = find(from, file, offset / block_bytes, stop);
    const auto begin = static_cast<std::size_t>(offset % block_bytes);
    if (!x || begin >= x->size)
      return false;
    const auto n = std::min(into.size(), x->size - begin);
    std::copy_n(x->bytes.get() + begin, n, into.begin());
    into = into.subspan(n);
    offset += n;
  }
  return true;
}

const record_blocks::block* record_blocks::find(const stream_files& from, std::size_t file,
                                                std::uint64_t number, const std::stop_token& stop) {
  if (blocks_.empty())
    blocks_.resize(most_blocks);
  // Files of equal sizes tend to be read at equal offsets, so the file is part of the hash.
  auto& x = blocks_[static_cast<std::size_t>((number + file * 0x9E3779B97F4A7C15U) % most_blocks)];
  const bool is_known = x.serial == from.serial() && x.file == file && x.number == number;
  points_ = is_known ? std::min(points_ + 1, most_points) : std::max(points_ - 2, -most_points);
  if (is_known && x.size > 0)
    return &x;
  x.serial = from.serial();
  x.file = file;
  x.number = number;
  x.size = 0;
  if (points_ < 0)
    return nullptr;
  if (!x.bytes)
    x.bytes = std::make_unique_for_overwrite<std::byte[]>(block_bytes);
  try {
    x.size = from.read(file, number * block_bytes, {x.bytes.get(), block_bytes}, stop);
  } catch (const error&) { // may concern bytes of the block that nobody asked for
    return nullptr;
  }
  return &x;
}

} // namespace leat
