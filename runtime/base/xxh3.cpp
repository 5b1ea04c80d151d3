#include "runtime/base/xxh3.hpp"

#include <xxhash.h>
#ifdef LEAT_HAS_XXH_DISPATCH
// The same hashes by the widest instructions that this processor has: twice as fast.
#include <xxh_x86dispatch.h>
#endif

#include <bit>
#include <new>

namespace leat {

static_assert(std::endian::native == std::endian::little,
              "byte order of hashes, indexes and snapshots");

hash128 xxh3_128(std::span<const std::byte> bytes) noexcept {
  auto x = XXH3_128bits(bytes.data(), bytes.size());
  return {.low = x.low64, .high = x.high64};
}

std::uint64_t xxh3_64(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct hash_stream::state {
  struct free_state {
    void operator()(XXH3_state_t* x) const { XXH3_freeState(x); }
  };
  std::unique_ptr<XXH3_state_t, free_state> xxh{XXH3_createState()};
};

hash_stream::hash_stream() : state_(std::make_unique<state>()) {
  if (!state_->xxh)
    throw std::bad_alloc{};
  reset();
}

hash_stream::~hash_stream() = default;

void hash_stream::reset() {
  XXH3_128bits_reset(state_->xxh.get());
}

void hash_stream::add(std::uint64_t x) {
  add_raw(std::as_bytes(std::span{&x, 1}));
}

void hash_stream::add(std::string_view text) {
  add(std::uint64_t{text.size()});
  add_raw(std::as_bytes(std::span{text.data(), text.size()}));
}

void hash_stream::add_raw(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}

hash128 hash_stream::digest128() const {
  auto x = XXH3_128bits_digest(state_->xxh.get());
  return {.low = x.low64, .high = x.high64};
}

std::uint64_t hash_stream::digest64() const {
  return digest128().low;
}

} // namespace leat
