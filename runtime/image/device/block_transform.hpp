#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/on_both.hpp"
#include "runtime/image/jpeg/dct_factors.hpp"

#include <cstdint>

namespace leat {

// Places are numbers of 32 bits, which is what a device computes with: a group has 4 GiB at most.
// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result)

// Coefficients of one block to its samples: what leat::inverse_dct does, with its wrapping and
// saturating. Sources: see there.

namespace block_transform {

using namespace dct_factors;

/// Row by row, the place of each coefficient in the order of the file.
LEAT_ON_BOTH constexpr int zigzag(int k) {
  constexpr std::uint8_t places[64]{0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
  return places[k];
}

LEAT_ON_BOTH inline int wrap_16(int x) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(x));
}
LEAT_ON_BOTH inline int saturate_16(int x) {
  return x < -32768 ? -32768 : x > 32767 ? 32767 : x;
}
LEAT_ON_BOTH inline std::uint8_t saturate_8(int x) {
  return static_cast<std::uint8_t>(x < 0 ? 0 : x > 255 ? 255 : x);
}

/// A sum of 32 bits that wraps.
struct sum {
  std::uint32_t bits;

  LEAT_ON_BOTH sum operator+(sum x) const { return {bits + x.bits}; }
  LEAT_ON_BOTH sum operator-(sum x) const { return {bits - x.bits}; }
  template <int Bits>
  LEAT_ON_BOTH int shrunk() const {
    return static_cast<std::int32_t>(bits) >> Bits;
  }
};

LEAT_ON_BOTH inline sum times(int x, int factor) {
  return {static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(factor)};
}

/// Eight numbers, `Step` apart; the results have Bits fewer bits after the point.
template <int Bits, int Step>
LEAT_ON_BOTH inline void to_8(int* x) {
  const sum half{1U << (Bits - 1)};
  const sum t2 = times(x[2 * Step], f_0_541) + times(x[6 * Step], f_0_541 - f_1_847);
  const sum t3 = times(x[2 * Step], f_0_541 + f_0_765) + times(x[6 * Step], f_0_541);
  // 16 bits, as in libjpeg-turbo: this shows where a damaged file overflows.
  const sum t0 = times(wrap_16(x[0] + x[4 * Step]), 1 << scale_bits) + half;
  const sum t1 = times(wrap_16(x[0] - x[4 * Step]), 1 << scale_bits) + half;
  const sum e0 = t0 + t3;
  const sum e3 = t0 - t3;
  const sum e1 = t1 + t2;
  const sum e2 = t1 - t2;
  const int x1 = x[Step];
  const int x3 = x[3 * Step];
  const int x5 = x[5 * Step];
  const int x7 = x[7 * Step];
  const int z37 = wrap_16(x7 + x3);
  const int z15 = wrap_16(x5 + x1);
  const sum z3 = times(z37, f_1_175 - f_1_961) + times(z15, f_1_175);
  const sum z4 = times(z37, f_1_175) + times(z15, f_1_175 - f_0_390);
  const sum o0 = times(x7, f_0_298 - f_0_899) + times(x1, -f_0_899) + z3;
  const sum o3 = times(x7, -f_0_899) + times(x1, f_1_501 - f_0_899) + z4;
  const sum o1 = times(x5, f_2_053 - f_2_562) + times(x3, -f_2_562) + z4;
  const sum o2 = times(x5, -f_2_562) + times(x3, f_3_072 - f_2_562) + z3;
  x[0] = saturate_16((e0 + o3).shrunk<Bits>());
  x[7 * Step] = saturate_16((e0 - o3).shrunk<Bits>());
  x[Step] = saturate_16((e1 + o2).shrunk<Bits>());
  x[6 * Step] = saturate_16((e1 - o2).shrunk<Bits>());
  x[2 * Step] = saturate_16((e2 + o1).shrunk<Bits>());
  x[5 * Step] = saturate_16((e2 - o1).shrunk<Bits>());
  x[3 * Step] = saturate_16((e3 + o0).shrunk<Bits>());
  x[4 * Step] = saturate_16((e3 - o0).shrunk<Bits>());
}

/// Eight numbers, of which number 4 adds nothing, to the first four.
template <int Bits, int Step>
LEAT_ON_BOTH inline void to_4(int* x) {
  const sum t0 = times(x[0], 1 << (scale_bits + 1)) + sum{1U << (Bits - 1)};
  const sum t2 = times(x[2 * Step], f_1_847) + times(x[6 * Step], -f_0_765);
  const sum e0 = t0 + t2;
  const sum e1 = t0 - t2;
  const sum o0 = times(x[Step], f_2_562) + times(x[3 * Step], f_0_899)
                 + times(x[5 * Step], -f_0_601) + times(x[7 * Step], -f_0_509);
  const sum o1 = times(x[Step], f_1_061) + times(x[3 * Step], -f_2_172)
                 + times(x[5 * Step], f_1_451) + times(x[7 * Step], -f_0_211);
  x[0] = saturate_16((e0 + o0).shrunk<Bits>());
  x[Step] = saturate_16((e1 + o1).shrunk<Bits>());
  x[2 * Step] = saturate_16((e1 - o1).shrunk<Bits>());
  x[3 * Step] = saturate_16((e0 - o0).shrunk<Bits>());
}

/// What the odd ones of eight numbers add to the first of two, and take from the second.
template <int Step>
LEAT_ON_BOTH inline sum odd_of_2(const int* x) {
  return times(x[Step], f_3_624) + times(x[3 * Step], -f_1_272) + times(x[5 * Step], f_0_850)
         + times(x[7 * Step], -f_0_720);
}

/// Whether no bits are lost where the first row is multiplied by four as it is: what libjpeg-turbo
/// does with blocks that have no other row.
LEAT_ON_BOTH inline bool has_spare_bits(const int* x) {
  bool good = true;
  LEAT_UNROLL
  for (int c = 0; c < 8; ++c)
    good = good && wrap_16(x[c] * 4) >> extra_bits == x[c];
  return good;
}

LEAT_ON_BOTH inline bool fits_16(int x) {
  return wrap_16(x) == x;
}

/// Samples side by side, stored at once.
template <int Many>
struct alignas(Many) samples {
  std::uint8_t x[Many];
};

LEAT_ON_BOTH inline bool block_to_8(int* x, std::uint8_t* to, std::uint32_t stride) {
  const bool good = has_spare_bits(x);
  LEAT_UNROLL
  for (int c = 0; c < 8; ++c)
    to_8<scale_bits - extra_bits, 8>(x + c);
  LEAT_UNROLL
  for (int r = 0; r < 8; ++r) {
    to_8<scale_bits + extra_bits + 3, 1>(x + 8 * r);
    samples<8> row;
    LEAT_UNROLL
    for (int c = 0; c < 8; ++c)
      row.x[c] = saturate_8(x[8 * r + c] + 128);
    *reinterpret_cast<samples<8>*>(to + r * stride) = row;
  }
  return good;
}

LEAT_ON_BOTH inline bool block_to_4(int* x, std::uint8_t* to, std::uint32_t stride) {
  const bool good = has_spare_bits(x);
  LEAT_UNROLL
  for (int c = 0; c < 8; ++c)
    to_4<scale_bits - extra_bits + 1, 8>(x + c);
  LEAT_UNROLL
  for (int r = 0; r < 4; ++r) {
    to_4<scale_bits + extra_bits + 3 + 1, 1>(x + 8 * r);
    samples<4> row;
    LEAT_UNROLL
    for (int c = 0; c < 4; ++c)
      row.x[c] = saturate_8(x[8 * r + c] + 128);
    *reinterpret_cast<samples<4>*>(to + r * stride) = row;
  }
  return good;
}

LEAT_ON_BOTH inline bool block_to_2(int* x, std::uint8_t* to, std::uint32_t stride) {
  constexpr int first_bits = scale_bits - extra_bits + 2;
  constexpr int bits = scale_bits + extra_bits + 3 + 2;
  bool good = true;
  LEAT_UNROLL
  for (int c = 0; c < 8; ++c) {
    const sum even = times(x[c], 1 << (scale_bits + 2)) + sum{1U << (first_bits - 1)};
    const sum odd = odd_of_2<8>(x + c);
    const int top = (even + odd).shrunk<first_bits>();
    const int bottom = (even - odd).shrunk<first_bits>();
    // libjpeg-turbo keeps more bits of the first column.
    good = good && (c >= 4 || (fits_16(top) && fits_16(bottom)));
    x[c] = saturate_16(top);
    x[8 + c] = saturate_16(bottom);
  }
  LEAT_UNROLL
  for (int r = 0; r < 2; ++r) {
    const sum even = times(x[8 * r], 1 << (scale_bits + 2)) + sum{1U << (bits - 1)};
    const sum odd = odd_of_2<1>(x + 8 * r);
    const samples<2> row{{saturate_8((even + odd).shrunk<bits>() + 128),
                          saturate_8((even - odd).shrunk<bits>() + 128)}};
    *reinterpret_cast<samples<2>*>(to + r * stride) = row;
  }
  return good;
}

/// As jidctred.c does it, which cuts what is far out of range to ten bits.
LEAT_ON_BOTH inline std::uint8_t mean_of_block(int first, int factor) {
  const int mean = (first * factor + 4) >> 3;
  return saturate_8(((mean & 1023) ^ 512) - 512 + 128);
}

} // namespace block_transform

/// A block's coefficients, in the order of the file, of which some are loaded at once.
struct alignas(16) eight_coefficients {
  std::int16_t x[8];
};

/// Makes the samples of block `number` of a component. False: coefficients so far out of range that
/// libjpeg-turbo's samples may be others.
LEAT_ON_BOTH inline bool transform_block(const device_component& component, std::uint32_t number,
                                         const std::int16_t* all_coefficients,
                                         std::uint8_t* all_samples) {
  namespace bt = block_transform;
  const std::uint32_t each = component.each;
  const std::uint32_t stride = component.columns * each;
  std::uint8_t* to = all_samples + component.first_sample
                     + number / component.columns * each * stride
                     + number % component.columns * each;
  const auto* from = reinterpret_cast<const eight_coefficients*>(
      all_coefficients + (static_cast<std::size_t>(component.first_block) + number) * 64);
  if (each == 1) {
    *to = bt::mean_of_block(from->x[0], static_cast<std::int16_t>(component.quantisation[0]));
    return true;
  }
  int x[64];
  LEAT_UNROLL
  for (int i = 0; i < 8; ++i) {
    const eight_coefficients some = from[i];
    LEAT_UNROLL
    for (int j = 0; j < 8; ++j) {
      const int at = bt::zigzag(8 * i + j);
      x[at] = bt::wrap_16(some.x[j] * static_cast<std::int16_t>(component.quantisation[at]));
    }
  }
  return each == 8   ? bt::block_to_8(x, to, stride)
         : each == 4 ? bt::block_to_4(x, to, stride)
                     : bt::block_to_2(x, to, stride);
}

// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)

} // namespace leat
