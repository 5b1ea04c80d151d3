#include "runtime/image/jpeg/inverse_dct.hpp"

#include "runtime/image/jpeg/dct_factors.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/image/jpeg/inverse_dct.cpp"
#include "runtime/image/simd_targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace leat::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A 128-bit part of a vector is one row of one block.
using words = hn::ScalableTag<std::int16_t>;
using sums = hn::RepartitionToWide<words>;
using row = hn::Vec<words>;
using wide = hn::Vec<sums>;

constexpr std::size_t blocks = hn::MaxLanes(words()) / 8;

using namespace dct_factors;

/// Sums of products of neighbouring lanes.
HWY_INLINE wide times(row pairs, row factors) {
  auto odd = hn::Zero(sums());
  const auto even = hn::ReorderWidenMulAccumulate(sums(), pairs, factors, hn::Zero(sums()), odd);
  return hn::RearrangeToOddPlusEven(even, odd);
}

/// Multiplies pairs by a and b.
HWY_INLINE wide times(row pairs, int a, int b) {
  const auto factors = hn::BitCast(
      words(),
      hn::Set(sums(), static_cast<std::int32_t>(static_cast<std::uint32_t>(b) << 16
                                                | (static_cast<std::uint32_t>(a) & 0xFFFF))));
  return times(pairs, factors);
}

/// Lanes of two rows in turns: the left halves of blocks, and the right ones.
struct pairs {
  row left;
  row right;
};

struct halves {
  wide left;
  wide right;
};

/// Lane: words, or more of them as one.
template <class Lane = std::int16_t>
HWY_INLINE pairs zip(row a, row b) {
  const hn::Repartition<Lane, words> lanes;
  const auto x = hn::BitCast(lanes, a);
  const auto y = hn::BitCast(lanes, b);
  return {hn::BitCast(words(), hn::InterleaveLower(lanes, x, y)),
          hn::BitCast(words(), hn::InterleaveUpper(lanes, x, y))};
}

HWY_INLINE halves times(const pairs& x, int a, int b) {
  return {times(x.left, a, b), times(x.right, a, b)};
}

HWY_INLINE halves operator+(const halves& a, const halves& b) {
  return {hn::Add(a.left, b.left), hn::Add(a.right, b.right)};
}

HWY_INLINE halves operator-(const halves& a, const halves& b) {
  return {hn::Sub(a.left, b.left), hn::Sub(a.right, b.right)};
}

template <int Bits>
HWY_INLINE row shrink(const halves& x) {
  return hn::ReorderDemote2To(words(), hn::ShiftRight<Bits>(x.left), hn::ShiftRight<Bits>(x.right));
}

struct block_rows {
  row r0, r1, r2, r3, r4, r5, r6, r7;
};

/// Transforms columns; the results have Bits fewer bits after the point.
template <int Bits>
HWY_INLINE void transform_columns(block_rows& x) {
  // Even part. Rounding is added where it reaches all results.
  const auto half = hn::Set(sums(), 1 << (Bits - 1));
  const auto x26 = zip(x.r2, x.r6);
  const auto t2 = times(x26, f_0_541, f_0_541 - f_1_847);
  const auto t3 = times(x26, f_0_541 + f_0_765, f_0_541);
  // 16 bits, as in libjpeg-turbo: this shows where a damaged file overflows.
  const auto x04 = zip(hn::Add(x.r0, x.r4), hn::Sub(x.r0, x.r4));
  const auto t0 = times(x04, 1 << scale_bits, 0) + halves{half, half};
  const auto t1 = times(x04, 0, 1 << scale_bits) + halves{half, half};
  const auto e0 = t0 + t3;
  const auto e3 = t0 - t3;
  const auto e1 = t1 + t2;
  const auto e2 = t1 - t2;
  // Odd part.
  const auto z = zip(hn::Add(x.r7, x.r3), hn::Add(x.r5, x.r1));
  const auto z3 = times(z, f_1_175 - f_1_961, f_1_175);
  const auto z4 = times(z, f_1_175, f_1_175 - f_0_390);
  const auto x71 = zip(x.r7, x.r1);
  const auto x53 = zip(x.r5, x.r3);
  const auto o0 = times(x71, f_0_298 - f_0_899, -f_0_899) + z3;
  const auto o3 = times(x71, -f_0_899, f_1_501 - f_0_899) + z4;
  const auto o1 = times(x53, f_2_053 - f_2_562, -f_2_562) + z4;
  const auto o2 = times(x53, -f_2_562, f_3_072 - f_2_562) + z3;
  x.r0 = shrink<Bits>(e0 + o3);
  x.r7 = shrink<Bits>(e0 - o3);
  x.r1 = shrink<Bits>(e1 + o2);
  x.r6 = shrink<Bits>(e1 - o2);
  x.r2 = shrink<Bits>(e2 + o1);
  x.r5 = shrink<Bits>(e2 - o1);
  x.r3 = shrink<Bits>(e3 + o0);
  x.r4 = shrink<Bits>(e3 - o0);
}

/// Swaps rows and columns of each block.
HWY_INLINE void transpose(block_rows& x) {
  // No `block_rows` without values: its constructor is made outside of the target's functions, and
  // those of NEON's vectors cannot be inlined there.
  const auto a01 = zip(x.r0, x.r1);
  const auto a23 = zip(x.r2, x.r3);
  const auto a45 = zip(x.r4, x.r5);
  const auto a67 = zip(x.r6, x.r7);
  const auto b01 = zip<std::int32_t>(a01.left, a23.left);
  const auto b23 = zip<std::int32_t>(a01.right, a23.right);
  const auto b45 = zip<std::int32_t>(a45.left, a67.left);
  const auto b67 = zip<std::int32_t>(a45.right, a67.right);
  const auto c01 = zip<std::int64_t>(b01.left, b45.left);
  const auto c23 = zip<std::int64_t>(b01.right, b45.right);
  const auto c45 = zip<std::int64_t>(b23.left, b67.left);
  const auto c67 = zip<std::int64_t>(b23.right, b67.right);
  x = {c01.left, c01.right, c23.left, c23.right, c45.left, c45.right, c67.left, c67.right};
}

HWY_INLINE row load(std::int16_t* coefficients, const std::uint16_t* quantisation, std::size_t r) {
  auto* at = coefficients + r * blocks * 8;
  // Each block's row meets the same eight factors.
  const auto factors = hn::BitCast(
      words(), hn::LoadDup128(hn::Repartition<std::uint16_t, words>(), quantisation + 8 * r));
  const auto result = hn::Mul(hn::Load(words(), at), factors);
  hn::Store(hn::Zero(words()), words(), at);
  return result;
}

HWY_INLINE void store(row x, std::uint8_t* to) {
  const hn::Rebind<std::uint8_t, words> bytes;
  const auto shifted = hn::SaturatedAdd(x, hn::Set(words(), std::int16_t{128}));
  hn::StoreU(hn::DemoteTo(bytes, shifted), bytes, to);
}

/// Whether no bits are lost where a row is multiplied by four as it is: what libjpeg-turbo does
/// with blocks that have no other row. Samples of 8 bits come nowhere near.
template <int Bits>
HWY_INLINE bool has_spare_bits(row x) {
  return hn::AllTrue(words(), hn::Eq(hn::ShiftRight<Bits>(hn::ShiftLeft<Bits>(x)), x));
}

bool to_8(std::int16_t* coefficients, const std::uint16_t* quantisation, std::uint8_t* samples,
          std::size_t stride) {
  block_rows x{load(coefficients, quantisation, 0), load(coefficients, quantisation, 1),
               load(coefficients, quantisation, 2), load(coefficients, quantisation, 3),
               load(coefficients, quantisation, 4), load(coefficients, quantisation, 5),
               load(coefficients, quantisation, 6), load(coefficients, quantisation, 7)};
  const bool good = has_spare_bits<extra_bits>(x.r0);
  transform_columns<scale_bits - extra_bits>(x);
  transpose(x);
  transform_columns<scale_bits + extra_bits + 3>(x);
  transpose(x);
  store(x.r0, samples);
  store(x.r1, samples + stride);
  store(x.r2, samples + 2 * stride);
  store(x.r3, samples + 3 * stride);
  store(x.r4, samples + 4 * stride);
  store(x.r5, samples + 5 * stride);
  store(x.r6, samples + 6 * stride);
  store(x.r7, samples + 7 * stride);
  return good;
}

// -- To fewer samples: means of neighbours, of which coefficient 4 (and of four, 2 and 6) adds
// none.

void clear(std::int16_t* coefficients, std::size_t r) {
  hn::Store(hn::Zero(words()), words(), coefficients + r * blocks * 8);
}

struct four {
  wide w0, w1, w2, w3;
};

/// Columns, or rows: pairs of coefficients 0 and any, 1 and 3, 2 and 6, 5 and 7.
template <int Bits>
HWY_INLINE four transform_to_4(row x0, row x13, row x26, row x57) {
  const auto half = hn::Set(sums(), 1 << (Bits - 1));
  const auto t0 = hn::Add(times(x0, 1 << (scale_bits + 1), 0), half);
  const auto t2 = times(x26, f_1_847, -f_0_765);
  const auto e0 = hn::Add(t0, t2);
  const auto e1 = hn::Sub(t0, t2);
  const auto o0 = hn::Add(times(x13, f_2_562, f_0_899), times(x57, -f_0_601, -f_0_509));
  const auto o1 = hn::Add(times(x13, f_1_061, -f_2_172), times(x57, f_1_451, -f_0_211));
  return {hn::ShiftRight<Bits>(hn::Add(e0, o0)), hn::ShiftRight<Bits>(hn::Add(e1, o1)),
          hn::ShiftRight<Bits>(hn::Sub(e1, o1)), hn::ShiftRight<Bits>(hn::Sub(e0, o0))};
}

HWY_INLINE row join(wide left, wide right) {
  return hn::ReorderDemote2To(words(), left, right);
}

bool to_4(std::int16_t* coefficients, const std::uint16_t* quantisation, std::uint8_t* samples,
          std::size_t stride) {
  const auto r0 = load(coefficients, quantisation, 0);
  const auto x0 = zip(r0, r0);
  const auto x13 = zip(load(coefficients, quantisation, 1), load(coefficients, quantisation, 3));
  const auto x26 = zip(load(coefficients, quantisation, 2), load(coefficients, quantisation, 6));
  const auto x57 = zip(load(coefficients, quantisation, 5), load(coefficients, quantisation, 7));
  clear(coefficients, 4);
  constexpr int first_bits = scale_bits - extra_bits + 1;
  const auto left = transform_to_4<first_bits>(x0.left, x13.left, x26.left, x57.left);
  const auto right = transform_to_4<first_bits>(x0.right, x13.right, x26.right, x57.right);
  // Columns, two in a row of eight.
  const auto a = zip(join(left.w0, right.w0), join(left.w1, right.w1));
  const auto b = zip(join(left.w2, right.w2), join(left.w3, right.w3));
  const auto [c01, c23] = zip<std::int32_t>(a.left, b.left);
  const auto [c45, c67] = zip<std::int32_t>(a.right, b.right);
  const auto y = transform_to_4<scale_bits + extra_bits + 3 + 1>(
      zip(c01, c01).left, zip(c01, c23).right, zip(c23, c67).left, zip(c45, c67).right);
  const auto pairs = zip(join(y.w0, y.w2), join(y.w1, y.w3));
  const auto [r01, r23] = zip<std::int32_t>(pairs.left, pairs.right);
  HWY_ALIGN std::uint8_t bytes[2][8 * blocks];
  store(r01, bytes[0]);
  store(r23, bytes[1]);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t i = 0; i < blocks; ++i)
      std::memcpy(samples + r * stride + 4 * i, bytes[r / 2] + 8 * i + r % 2 * 4, 4);
  return has_spare_bits<extra_bits>(r0);
}

/// Whether numbers are the same with 16 bits.
HWY_INLINE bool fit_words(wide x) {
  return hn::AllTrue(sums(), hn::Eq(hn::ShiftRight<15>(x), hn::ShiftRight<31>(x)));
}

/// Columns 0, 1, 3, 5 and 7 of each block's two rows become its four samples, upper row first.
HWY_INLINE wide transform_rows_to_2(row upper, row lower) {
  alignas(16) static constexpr std::int16_t odd_factors[] = {0, f_3_624, 0, -f_1_272,
                                                             0, f_0_850, 0, -f_0_720};
  constexpr int bits = scale_bits + extra_bits + 3 + 2;
  const auto factors = hn::LoadDup128(words(), odd_factors);
  const auto a = times(upper, factors);
  const auto b = times(lower, factors);
  const auto halves = hn::Add(hn::InterleaveLower(sums(), a, b), hn::InterleaveUpper(sums(), a, b));
  const auto odd = hn::Add(halves, hn::Shuffle1032(halves));
  auto first = [](row x) {
    return hn::ShiftRight<16 - scale_bits - 2>(hn::ShiftLeft<16>(hn::BitCast(sums(), x)));
  };
  const auto even = hn::Add(hn::InterleaveLower(sums(), first(upper), first(lower)),
                            hn::Set(sums(), 1 << (bits - 1)));
  return hn::ShiftRight<bits>(hn::InterleaveLower(sums(), hn::Add(even, odd), hn::Sub(even, odd)));
}

bool to_2(std::int16_t* coefficients, const std::uint16_t* quantisation, std::uint8_t* samples,
          std::size_t stride) {
  const auto r0 = load(coefficients, quantisation, 0);
  const auto x0 = zip(r0, r0);
  const auto x13 = zip(load(coefficients, quantisation, 1), load(coefficients, quantisation, 3));
  const auto x57 = zip(load(coefficients, quantisation, 5), load(coefficients, quantisation, 7));
  for (const std::size_t r : {2, 4, 6})
    clear(coefficients, r);
  constexpr int first_bits = scale_bits - extra_bits + 2;
  const auto half = hn::Set(sums(), 1 << (first_bits - 1));
  const auto even = times(x0, 1 << (scale_bits + 1), 1 << (scale_bits + 1)) + halves{half, half};
  const auto odd = times(x13, f_3_624, -f_1_272) + times(x57, f_0_850, -f_0_720);
  const auto top = even + odd;
  const auto bottom = even - odd;
  const auto a = shrink<first_bits>(top);
  const auto b = shrink<first_bits>(bottom);
  // libjpeg-turbo keeps more bits of the first column.
  const bool good = fit_words(hn::ShiftRight<first_bits>(top.left))
                    && fit_words(hn::ShiftRight<first_bits>(bottom.left));
  const hn::Rebind<std::uint8_t, sums> block_bytes;
  HWY_ALIGN std::uint8_t bytes[4 * blocks];
  hn::StoreU(hn::DemoteTo(block_bytes, hn::Add(transform_rows_to_2(a, b), hn::Set(sums(), 128))),
             block_bytes, bytes);
  for (std::size_t i = 0; i < blocks; ++i) {
    std::memcpy(samples + 2 * i, bytes + 4 * i, 2);
    std::memcpy(samples + stride + 2 * i, bytes + 4 * i + 2, 2);
  }
  return good;
}

/// As jidctred.c does it, which cuts what is far out of range to ten bits.
bool to_1(std::int16_t* coefficients, const std::uint16_t* quantisation, std::uint8_t* samples,
          std::size_t) {
  const int factor = static_cast<std::int16_t>(quantisation[0]);
  for (std::size_t i = 0; i < blocks; ++i) {
    const int mean = (coefficients[8 * i] * factor + 4) >> 3;
    const int kept = ((mean & 1023) ^ 512) - 512;
    samples[i] = static_cast<std::uint8_t>(std::clamp(kept + 128, 0, 255));
  }
  clear(coefficients, 0);
  return true;
}

inverse_dct variant() {
  return {{blocks}, {to_1, to_2, to_4, to_8}};
}

} // namespace
} // namespace leat::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace leat {

HWY_EXPORT(variant);

inverse_dct inverse_dct::best() {
  return HWY_DYNAMIC_DISPATCH(variant)();
}

} // namespace leat

#endif
