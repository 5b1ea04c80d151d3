#pragma once

#include "runtime/pipeline/tokenizer/token_cache.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace leat {

/// The pieces of words that came before, for one thread, in a fixed amount of memory: 3 MB from the
/// first word on, because some models have none to remember. Words are compared to their last byte.
class piece_cache {
public:
  static constexpr std::size_t most_pieces = 7;

  struct entry {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    /// As far from 0 a sum of scores may be for these to be a word's pieces.
    float reach = 0;
    std::array<std::int32_t, most_pieces> ids = {};

    std::span<const std::int32_t> pieces() const {
      return {ids.data(), static_cast<std::size_t>(high >> count_shift)};
    }
  };

  using key = token_cache::key;
  /// Words that are not short are not in here. The bytes up to `readable` may be read.
  static key key_of(std::string_view word, const char* readable) noexcept {
    return word.size() < short_bytes ? token_cache::key_of(word, readable) : key{};
  }

  /// Nothing, if it is not in here.
  const entry* find(const key& of) const noexcept {
    if (entries_.empty())
      return nullptr;
    for (const auto& x : entries_[place_of(of)])
      if (x.low == of.low && (x.high & ~count_bits) == of.high)
        return &x;
    return nullptr;
  }
  /// Forgets another word, where there is no room.
  void put(const key& of, std::span<const std::int32_t> ids, float reach) {
    if (!of.is_short || ids.empty() || ids.size() > most_pieces)
      return;
    if (entries_.empty())
      entries_.resize(std::size_t{1} << place_bits);
    auto& both = entries_[place_of(of)];
    both[1] = both[0];
    both[0] = {of.low, of.high | std::uint64_t{ids.size()} << count_shift, reach, {}};
    std::copy(ids.begin(), ids.end(), both[0].ids.begin());
  }

private:
  static constexpr std::size_t short_bytes = 16;
  static constexpr unsigned count_shift = 60;
  static constexpr std::uint64_t count_bits = std::uint64_t{0xf} << count_shift;
  static constexpr unsigned place_bits = 15;

  static std::size_t place_of(const key& of) noexcept {
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
    const auto mixed = (of.low ^ std::rotl(of.high * odd, 29)) * odd;
    return static_cast<std::size_t>((mixed ^ mixed >> 32) * odd >> (64 - place_bits));
  }

  std::vector<std::array<entry, 2>> entries_ = {};
};

} // namespace leat
