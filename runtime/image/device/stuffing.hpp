#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/on_both.hpp"

#include <cstdint>

namespace leat {

// Bytes of a scan as the entropy coder wrote them, as words of 32 bits, the first bit highest.

/// Threads that go in step: on a device a warp.
inline constexpr std::uint32_t warp_lanes = 32;
/// Words of zeros after a stretch, which its decoder has at hand before it needs them.
inline constexpr std::uint32_t words_ahead = 3;
/// Words that a decoder may read after the last stretch of a group: those of one damaged MCU.
inline constexpr std::uint32_t words_overrun = 10 * 64 * (16 + 15) / 32 + 1 + words_ahead;

/// Words that a stretch of so many coded bytes needs.
LEAT_ON_BOTH constexpr std::uint32_t words_of(std::uint32_t bytes) {
  return (bytes + 3) / 4 + words_ahead;
}

/// Four bytes from an aligned place, the first one lowest.
LEAT_ON_BOTH inline std::uint32_t four_bytes(const std::uint8_t* from) {
#if defined(__CUDA_ARCH__)
  return __ldg(reinterpret_cast<const std::uint32_t*>(from));
#else
  return static_cast<std::uint32_t>(from[0]) | static_cast<std::uint32_t>(from[1]) << 8
         | static_cast<std::uint32_t>(from[2]) << 16 | static_cast<std::uint32_t>(from[3]) << 24;
#endif
}

LEAT_ON_BOTH inline std::uint32_t ones_of(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(static_cast<int>(x)));
#else
  return static_cast<std::uint32_t>(__builtin_popcount(x));
#endif
}

/// Puts byte number `at` into words.
LEAT_ON_BOTH inline void put_byte(std::uint32_t* words, std::uint32_t at, std::uint32_t byte) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  at ^= 3U;
#endif
  reinterpret_cast<std::uint8_t*>(words)[at] = static_cast<std::uint8_t>(byte);
}

/// Four neighbouring bytes of a stretch, those before and after them, and what becomes of them.
struct stuffed_bytes {
  std::uint32_t b[6];
  bool keep[4];
  /// The first of the four with which a marker begins; 4: none.
  std::uint32_t marker;

  /// `at`: the first one's place. 0xFF ends the data unless 0 follows, which then is left out.
  LEAT_ON_BOTH void judge(std::uint32_t at, std::uint32_t from, std::uint32_t to) {
    marker = 4;
    LEAT_UNROLL
    for (std::uint32_t i = 4; i-- > 0;) {
      const std::uint32_t place = at + i;
      const bool is_in = place >= from && place < to;
      const std::uint32_t now = b[i + 1];
      if (is_in && now == 0xFF && (place + 1 >= to || b[i + 2] != 0))
        marker = i;
      keep[i] = is_in && !(now == 0 && b[i] == 0xFF && place > from);
    }
  }
  LEAT_ON_BOTH void keep_only(std::uint32_t first) {
    LEAT_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i)
      keep[i] = keep[i] && i < first;
  }
};

/// Removes stuffing from one stretch, with all lanes of a warp, four bytes each at a time.
///
/// `Warp` has a type `lanes<T>` of one T for each lane, which `[lane]` gives; `each(f)` calls f
/// with the number of each lane; `ballot(x)` has a bit for each lane; `last(x)` is the last lane's.
/// `before(x, y)` and `after(x, y)` are the neighbours', and y where there is none.
template <class Warp>
LEAT_ON_BOTH inline device_bits remove_stuffing(const device_stretch& s, const std::uint8_t* bytes,
                                                std::uint32_t* words, Warp& warp) {
  using std::uint32_t;
  uint32_t* to = words + s.first_word;
  constexpr uint32_t at_once = 4 * warp_lanes;
  uint32_t kept = 0;
  uint32_t expected = 0;
  uint32_t carried = 0; // the byte before the first lane's
  for (uint32_t i = s.from & ~3U; i < s.to; i += at_once) {
    typename Warp::template lanes<uint32_t> word;
    typename Warp::template lanes<uint32_t> highest;
    warp.each([&](uint32_t lane) {
      const uint32_t at = i + 4 * lane;
      word[lane] = at < s.to ? four_bytes(bytes + at) : 0;
      highest[lane] = word[lane] >> 24;
    });
    const uint32_t next = i + at_once < s.to ? four_bytes(bytes + i + at_once) : 0;
    const auto after = warp.after(word, next);
    const auto before = warp.before(highest, carried);
    carried = warp.last(highest);
    typename Warp::template lanes<stuffed_bytes> mine;
    typename Warp::template lanes<bool> flag;
    warp.each([&](uint32_t lane) {
      auto& x = mine[lane];
      x.b[0] = before[lane];
      LEAT_UNROLL
      for (uint32_t j = 0; j < 4; ++j)
        x.b[j + 1] = word[lane] >> (8 * j) & 0xFF;
      x.b[5] = after[lane] & 0xFF;
      x.judge(i + 4 * lane, s.from, s.to);
      flag[lane] = x.marker < 4;
    });
    const uint32_t markers = warp.ballot(flag);
    const uint32_t lowest = markers & (0U - markers);
    if (markers != 0)
      warp.each([&](uint32_t lane) {
        const uint32_t bit = 1U << lane;
        if (bit >= lowest)
          mine[lane].keep_only(bit == lowest ? mine[lane].marker : 0);
      });
    typename Warp::template lanes<uint32_t> place;
    warp.each([&](uint32_t lane) { place[lane] = kept; });
    LEAT_UNROLL
    for (uint32_t j = 0; j < 4; ++j) {
      warp.each([&](uint32_t lane) { flag[lane] = mine[lane].keep[j]; });
      const uint32_t all = warp.ballot(flag);
      kept += ones_of(all);
      warp.each([&](uint32_t lane) { place[lane] += ones_of(all & ((1U << lane) - 1)); });
      if (i + at_once <= s.next) {
        expected += ones_of(all);
      } else {
        warp.each(
            [&](uint32_t lane) { flag[lane] = mine[lane].keep[j] && i + 4 * lane + j < s.next; });
        expected += ones_of(warp.ballot(flag));
      }
    }
    warp.each([&](uint32_t lane) {
      LEAT_UNROLL
      for (uint32_t j = 0; j < 4; ++j)
        if (mine[lane].keep[j])
          put_byte(to, place[lane]++, mine[lane].b[j + 1]);
    });
    if (markers != 0)
      break;
  }
  const uint32_t end = ((kept + 3) / 4 + words_ahead) * 4;
  warp.each([&](uint32_t lane) {
    if (kept + lane < end)
      put_byte(to, kept + lane, 0);
  });
  return {kept * 8, expected * 8 + s.next_bit};
}

} // namespace leat
