#include <leat/rng.hpp>

#include <cmath>
#include <numbers>

namespace leat {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) {
      key[0] += 0x9E3779B9U;
      key[1] += 0xBB67AE85U;
    }
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
  }
  return counter;
}

rng::result_type rng::operator()() noexcept {
  if (used_ == words_.size()) {
    words_ = philox4x32(
        {static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32),
         static_cast<std::uint32_t>(sample_key_), static_cast<std::uint32_t>(sample_key_ >> 32)},
        {static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)});
    ++block_;
    used_ = 0;
  }
  return words_[used_++];
}

std::uint64_t rng::bits64() noexcept {
  const std::uint64_t low = (*this)();
  return low | std::uint64_t{(*this)()} << 32;
}

double rng::uniform() noexcept {
  return static_cast<double>(bits64() >> 11) * 0x1p-53;
}

std::uint64_t rng::below(std::uint64_t n) noexcept {
  // Rejects the first 2^64 mod n values, so that each remainder is left equally often; fewer than
  // half of all draws are rejected.
  const std::uint64_t first_fair = (0 - n) % n;
  std::uint64_t x = bits64();
  while (x < first_fair)
    x = bits64();
  return x % n;
}

double rng::normal() noexcept {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

} // namespace leat
