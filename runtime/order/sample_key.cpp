#include "runtime/order/sample_key.hpp"

#include "runtime/base/xxh3.hpp"

#include <array>
#include <span>

namespace leat {

std::uint64_t map_stream(std::uint64_t seed, std::string_view name, std::uint64_t ordinal) {
  hash_stream hash;
  hash.add("map");
  hash.add(seed);
  hash.add(name);
  hash.add(ordinal);
  return hash.digest64();
}

std::uint64_t sample_key_of(std::uint64_t source, std::uint64_t epoch, std::uint64_t pass,
                            std::uint64_t record) noexcept {
  const std::array<std::uint64_t, 4> words{source, epoch, pass, record};
  return xxh3_128(std::as_bytes(std::span{words})).low;
}

} // namespace leat
