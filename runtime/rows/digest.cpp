#include "runtime/base/xxh3.hpp"

#include <leat/order.hpp>

#include <array>
#include <cstring>

namespace leat {

hash128 row_digest(std::uint64_t epoch, std::uint64_t position, std::string_view id) noexcept {
  constexpr std::size_t head = 16;
  // Ids are short; longer ones are hashed in pieces.
  std::array<std::byte, 240> bytes;
  std::memcpy(bytes.data(), &epoch, 8);
  std::memcpy(bytes.data() + 8, &position, 8);
  if (id.size() <= bytes.size() - head) {
    std::memcpy(bytes.data() + head, id.data(), id.size());
    return xxh3_128({bytes.data(), head + id.size()});
  }
  hash_stream hash;
  hash.add_raw({bytes.data(), head});
  hash.add_raw(std::as_bytes(std::span{id.data(), id.size()}));
  return hash.digest128();
}

} // namespace leat
