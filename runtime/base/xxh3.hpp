#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/hash128.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace leat {

/// XXH3-128, seed 0, of some bytes.
hash128 xxh3_128(std::span<const std::byte> bytes) noexcept;

/// XXH3-64, seed 0, of some bytes.
std::uint64_t xxh3_64(std::span<const std::byte> bytes) noexcept;

/// XXH3-128, seed 0, of bytes given piece by piece. Integers enter as 8 bytes little-endian; texts
/// as their length (an integer) and their bytes, so that adjacent texts cannot run together.
class hash_stream : not_copied {
public:
  hash_stream();
  ~hash_stream();

  void reset();
  void add(std::uint64_t x);
  void add(std::string_view text);
  void add_raw(std::span<const std::byte> bytes);
  hash128 digest128() const;
  /// The low half of digest128().
  std::uint64_t digest64() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace leat
