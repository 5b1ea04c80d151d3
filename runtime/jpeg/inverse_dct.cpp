#include "runtime/jpeg/inverse_dct.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/jpeg/inverse_dct.cpp"
#include "runtime/simd_targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

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

constexpr int scale_bits = 13;

/// x * 2^13, rounded.
constexpr int fixed(double x) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): of numbers above zero, at compile time
  return static_cast<int>(x * (1 << scale_bits) + 0.5);
}

constexpr int f_0_298 = fixed(0.298631336);
constexpr int f_0_390 = fixed(0.390180644);
constexpr int f_0_541 = fixed(0.541196100);
constexpr int f_0_765 = fixed(0.765366865);
constexpr int f_0_899 = fixed(0.899976223);
constexpr int f_1_175 = fixed(1.175875602);
constexpr int f_1_501 = fixed(1.501321110);
constexpr int f_1_847 = fixed(1.847759065);
constexpr int f_1_961 = fixed(1.961570560);
constexpr int f_2_053 = fixed(2.053119869);
constexpr int f_2_562 = fixed(2.562915447);
constexpr int f_3_072 = fixed(3.072711026);

/// Sums of products of neighbouring lanes with a and b.
HWY_INLINE wide times(row pairs, int a, int b) {
  const auto factors = hn::BitCast(
      words(),
      hn::Set(sums(), static_cast<std::int32_t>(static_cast<std::uint32_t>(b) << 16
                                                | (static_cast<std::uint32_t>(a) & 0xFFFF))));
  auto odd = hn::Zero(sums());
  const auto even = hn::ReorderWidenMulAccumulate(sums(), pairs, factors, hn::Zero(sums()), odd);
  return hn::RearrangeToOddPlusEven(even, odd);
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

HWY_INLINE pairs zip(row a, row b) {
  return {hn::InterleaveLower(words(), a, b), hn::InterleaveUpper(words(), a, b)};
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

/// Transforms columns; the results have Bits fewer bits behind the point.
template <int Bits>
HWY_INLINE void transform_columns(block_rows& x) {
  // Even part. Rounding is added where it reaches all results.
  const auto half = hn::Set(sums(), 1 << (Bits - 1));
  const auto x26 = zip(x.r2, x.r6);
  const auto t2 = times(x26, f_0_541, f_0_541 - f_1_847);
  const auto t3 = times(x26, f_0_541 + f_0_765, f_0_541);
  // Of 16 bits, as in libjpeg-turbo: it shows where a damaged file overflows.
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

template <class Lane>
HWY_INLINE void zip_as(row a, row b, row& low, row& high) {
  const hn::Repartition<Lane, words> lanes;
  low = hn::BitCast(words(),
                    hn::InterleaveLower(lanes, hn::BitCast(lanes, a), hn::BitCast(lanes, b)));
  high = hn::BitCast(words(),
                     hn::InterleaveUpper(lanes, hn::BitCast(lanes, a), hn::BitCast(lanes, b)));
}

/// Swaps rows and columns of each block.
HWY_INLINE void transpose(block_rows& x) {
  block_rows a;
  block_rows b;
  zip_as<std::int16_t>(x.r0, x.r1, a.r0, a.r1);
  zip_as<std::int16_t>(x.r2, x.r3, a.r2, a.r3);
  zip_as<std::int16_t>(x.r4, x.r5, a.r4, a.r5);
  zip_as<std::int16_t>(x.r6, x.r7, a.r6, a.r7);
  zip_as<std::int32_t>(a.r0, a.r2, b.r0, b.r1);
  zip_as<std::int32_t>(a.r1, a.r3, b.r2, b.r3);
  zip_as<std::int32_t>(a.r4, a.r6, b.r4, b.r5);
  zip_as<std::int32_t>(a.r5, a.r7, b.r6, b.r7);
  zip_as<std::int64_t>(b.r0, b.r4, x.r0, x.r1);
  zip_as<std::int64_t>(b.r1, b.r5, x.r2, x.r3);
  zip_as<std::int64_t>(b.r2, b.r6, x.r4, x.r5);
  zip_as<std::int64_t>(b.r3, b.r7, x.r6, x.r7);
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

bool transform(std::int16_t* coefficients, const std::uint16_t* quantisation, std::uint8_t* samples,
               std::size_t stride) {
  constexpr int extra_bits = 2; // that the first pass keeps
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

inverse_dct variant() {
  return {{blocks}, transform};
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
