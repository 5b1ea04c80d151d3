#include "runtime/image/pixels/resample_kernels.hpp"

#include "runtime/image/pixels/axis_weights.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/image/pixels/resample_kernels.cpp"
#include "runtime/image/simd_targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace leat::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using words = hn::ScalableTag<std::int16_t>;
using sums = hn::RepartitionToWide<words>;
using bytes = hn::Repartition<std::uint8_t, words>;
using floats = hn::RebindToFloat<sums>;
using word = hn::Vec<words>;
using sum = hn::Vec<sums>;

constexpr std::size_t lanes = hn::MaxLanes(words());
constexpr std::size_t half_lanes = lanes / 2;
constexpr std::size_t blocks = lanes / 8;

/// Sums of products of neighbouring lanes.
HWY_INLINE sum times(word a, word b) {
  auto odd = hn::Zero(sums());
  const auto even = hn::ReorderWidenMulAccumulate(sums(), a, b, hn::Zero(sums()), odd);
  return hn::RearrangeToOddPlusEven(even, odd);
}

HWY_INLINE word pair_of(std::int32_t low_and_high) {
  return hn::BitCast(words(), hn::Set(sums(), low_and_high));
}

HWY_INLINE word pair_of(int a, int b) {
  return pair_of(static_cast<std::int32_t>(static_cast<std::uint32_t>(b) << 16
                                           | (static_cast<std::uint32_t>(a) & 0xFFFF)));
}

/// 16 bytes from each place, a 128-bit part each.
template <class Bytes>
HWY_INLINE hn::Vec<Bytes> gather_parts(Bytes bytes, const std::uint8_t* from,
                                       const std::size_t* base) {
  constexpr std::size_t parts = hn::MaxLanes(Bytes()) / 16;
  if constexpr (parts == 1) {
    return hn::LoadU(bytes, from + base[0]);
  } else {
    const hn::Half<Bytes> half;
    return hn::Combine(bytes, gather_parts(half, from, base + parts / 2),
                       gather_parts(half, from, base));
  }
}

constexpr int narrowing = fixed_weights::bits - resample_kernels::narrowed_bits;

/// One half of `lanes` outputs of several rows; Pairs of taps, or as many as the table says.
template <std::size_t Pairs>
HWY_INLINE sum narrow_half(const resample_kernels::narrow_table& table, std::size_t half,
                           const std::uint8_t* from) {
  const std::size_t pairs = Pairs != 0 ? Pairs : table.pairs;
  const auto seen = gather_parts(bytes(), from, table.base.data() + half * blocks);
  auto total = hn::Set(sums(), 1 << (narrowing - 1));
  for (std::size_t p = 0; p < pairs; ++p) {
    const auto at = (half * pairs + p) * lanes;
    const auto which = hn::Load(bytes(), table.samples.data() + 2 * at);
    const auto weights = hn::Load(words(), table.weights.data() + at);
    total =
        hn::Add(total, times(hn::BitCast(words(), hn::TableLookupBytesOr0(seen, which)), weights));
  }
  return hn::ShiftRight<narrowing>(total);
}

template <std::size_t Pairs>
HWY_INLINE void narrow_rows(const resample_kernels::narrow_table& table, const std::uint8_t* from,
                            std::size_t stride, std::size_t rows, std::int16_t* const* to) {
  const auto groups = table.base.size() / (2 * blocks);
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t y = 0; y < rows; ++y) {
      const auto* row = from + y * stride;
      const auto a = narrow_half<Pairs>(table, 2 * g, row);
      const auto b = narrow_half<Pairs>(table, 2 * g + 1, row);
      hn::Store(hn::ReorderDemote2To(words(), a, b), words(), to[y] + g * lanes);
    }
}

void narrow(const resample_kernels::narrow_table& table, const std::uint8_t* from,
            std::size_t stride, std::size_t rows, std::int16_t* const* to) {
  switch (table.pairs) {
  case 1:
    return narrow_rows<1>(table, from, stride, rows, to);
  case 2:
    return narrow_rows<2>(table, from, stride, rows, to);
  case 3:
    return narrow_rows<3>(table, from, stride, rows, to);
  default:
    return narrow_rows<0>(table, from, stride, rows, to);
  }
}

void narrow_wide(const resample_kernels::wide_table& table, const std::uint8_t* from,
                 std::size_t stride, std::size_t rows, std::int16_t* const* to) {
  const hn::FixedTag<std::int16_t, 8> step;
  const hn::FixedTag<std::int32_t, 4> four;
  const hn::Rebind<std::uint8_t, decltype(step)> samples;
  resample_kernels order;
  order.lanes = lanes;
  for (std::size_t i = 0; i < table.base.size(); ++i) {
    const auto* weights = table.weights.data() + i * table.steps * 8;
    const auto lane = order.lane_of(i);
    for (std::size_t y = 0; y < rows; ++y) {
      const auto* at = from + y * stride + table.base[i];
      auto even = hn::Zero(four);
      auto odd = hn::Zero(four);
      for (std::size_t s = 0; s < table.steps; ++s)
        even =
            hn::ReorderWidenMulAccumulate(four, hn::PromoteTo(step, hn::LoadU(samples, at + 8 * s)),
                                          hn::LoadU(step, weights + 8 * s), even, odd);
      const auto total = hn::GetLane(hn::SumOfLanes(four, hn::Add(even, odd)));
      const auto narrowed = (total + (1 << (narrowing - 1))) >> narrowing;
      to[y][lane] = static_cast<std::int16_t>(std::clamp(narrowed, -32768, 32767));
    }
  }
}

/// Bits after the point of a plane's value before its colour is known.
constexpr int value_bits = 6;
constexpr int colour_bits = resample_kernels::pixel_bits - value_bits;

HWY_INLINE word sum_rows(const resample_kernels::row_sum& x, std::size_t at) {
  constexpr int shift = resample_kernels::narrowed_bits + fixed_weights::bits - value_bits;
  auto left = hn::Set(sums(), 1 << (shift - 1));
  auto right = left;
  for (std::size_t p = 0; p < x.pairs; ++p) {
    const auto a = hn::Load(words(), x.rows[2 * p] + at);
    const auto b = hn::Load(words(), x.rows[2 * p + 1] + at);
    const auto weights = pair_of(x.weights[p]);
    left = hn::Add(left, times(hn::InterleaveLower(words(), a, b), weights));
    right = hn::Add(right, times(hn::InterleaveUpper(words(), a, b), weights));
  }
  return hn::ReorderDemote2To(words(), hn::ShiftRight<shift>(left), hn::ShiftRight<shift>(right));
}

/// Outputs in order: the first half of the lanes, and the second.
struct halves {
  sum first;
  sum second;
};

HWY_INLINE halves clamp(const halves& x) {
  const auto low = hn::Zero(sums());
  const auto high = hn::Set(sums(), 255 << resample_kernels::pixel_bits);
  return {hn::Min(hn::Max(x.first, low), high), hn::Min(hn::Max(x.second, low), high)};
}

HWY_INLINE halves times(word a, word b, int x, int y) {
  const auto factors = pair_of(x, y);
  return {times(hn::InterleaveLower(words(), a, b), factors),
          times(hn::InterleaveUpper(words(), a, b), factors)};
}

HWY_INLINE halves operator+(const halves& a, const halves& b) {
  return {hn::Add(a.first, b.first), hn::Add(a.second, b.second)};
}

struct pixels {
  halves red;
  halves green;
  halves blue;
};

/// x * 2^colour_bits, rounded.
constexpr int fixed(double x) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): of numbers above zero, at compile time
  return static_cast<int>(x * (1 << colour_bits) + 0.5);
}

constexpr int unit = fixed(1);

HWY_INLINE halves widen(word x) {
  return clamp(times(x, hn::Zero(words()), unit, 0));
}

/// Source: ITU-T T.871 (JFIF), section 7.
HWY_INLINE pixels from_ycc(word y, word cb, word cr) {
  const auto middle = hn::Set(words(), std::int16_t{128 << value_bits});
  const auto u = hn::Sub(cb, middle);
  const auto v = hn::Sub(cr, middle);
  const auto green = times(y, v, unit, -fixed(0.714136286)) + times(y, u, 0, -fixed(0.344136286));
  return {clamp(times(y, v, unit, fixed(1.402))), clamp(green),
          clamp(times(y, u, unit, fixed(1.772)))};
}

HWY_INLINE pixels pixels_at(const resample_kernels::pixel_row& x, std::size_t at) {
  const auto first = sum_rows(x.planes[0], at);
  if (x.colour == resample_kernels::colours::gray) {
    const auto gray = widen(first);
    return {gray, gray, gray};
  }
  const auto second = sum_rows(x.planes[1], at);
  const auto third = sum_rows(x.planes[2], at);
  if (x.colour == resample_kernels::colours::rgb)
    return {widen(first), widen(second), widen(third)};
  return from_ycc(first, second, third);
}

// -- elements of a tensor, half_lanes of them

struct as_u8 {
  using element = std::uint8_t;
  HWY_INLINE hn::Vec<hn::Rebind<element, sums>> operator()(sum x, float, float) const {
    constexpr int bits = resample_kernels::pixel_bits;
    return hn::DemoteTo(hn::Rebind<element, sums>(),
                        hn::ShiftRight<bits>(hn::Add(x, hn::Set(sums(), 1 << (bits - 1)))));
  }
};

struct as_f32 {
  using element = float;
  HWY_INLINE hn::Vec<floats> operator()(sum x, float scale, float offset) const {
    return hn::Add(hn::Mul(hn::ConvertTo(floats(), x), hn::Set(floats(), scale)),
                   hn::Set(floats(), offset));
  }
};

/// Rounded to nearest, halves to even, by whole numbers: not all processors convert.
struct as_bf16 {
  using element = std::uint16_t;
  HWY_INLINE hn::Vec<hn::Rebind<element, sums>> operator()(sum x, float scale, float offset) const {
    const hn::RebindToUnsigned<sums> unsigned_sums;
    const auto bits = hn::BitCast(unsigned_sums, as_f32()(x, scale, offset));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(unsigned_sums, 1));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(unsigned_sums, 0x7FFF)));
    return hn::DemoteTo(hn::Rebind<element, sums>(),
                        hn::BitCast(sums(), hn::ShiftRight<16>(rounded)));
  }
};

/// Stores half floats. Source: the bit patterns are those of IEEE 754-2008, binary16.
struct as_f16 {
  using element = std::uint16_t;
  HWY_INLINE hn::Vec<hn::Rebind<element, sums>> operator()(sum x, float scale, float offset) const {
    const auto bits = hn::BitCast(sums(), as_f32()(x, scale, offset));
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(sums(), 0x8000));
    const auto size = hn::And(bits, hn::Set(sums(), 0x7FFFFFFF));
    // Below 2^-14 a sum with 2^-1 rounds the bits that fall off.
    const auto magic = hn::Set(sums(), (127 - 15 + 23 - 10 + 1) << 23);
    const auto small = hn::Sub(
        hn::BitCast(sums(), hn::Add(hn::BitCast(floats(), size), hn::BitCast(floats(), magic))),
        magic);
    const auto odd = hn::And(hn::ShiftRight<13>(size), hn::Set(sums(), 1));
    const auto usual = hn::ShiftRight<13>(
        hn::Add(hn::Add(size, odd), hn::Set(sums(), ((15 - 127) * (1 << 23)) + 0xFFF)));
    const auto is_small = hn::Lt(size, hn::Set(sums(), (127 - 14) << 23));
    // Above the highest one: infinity.
    const auto value = hn::Min(hn::IfThenElse(is_small, small, usual), hn::Set(sums(), 0x7C00));
    return hn::DemoteTo(hn::Rebind<element, sums>(), hn::Or(sign, value));
  }
};

/// Writes `lanes` pixels of each channel, or of all channels in turns.
template <class Convert>
HWY_INLINE void store(const pixels& x, const resample_kernels::pixel_row& form,
                      typename Convert::element* to, std::size_t plane) {
  const Convert convert;
  const hn::Rebind<typename Convert::element, sums> elements;
  auto channel = [&](const halves& y, std::size_t c, bool second) HWY_ATTR {
    return convert(second ? y.second : y.first, form.scale[c], form.offset[c]);
  };
  for (const bool second : {false, true}) {
    const auto red = channel(x.red, 0, second);
    const auto green = channel(x.green, 1, second);
    const auto blue = channel(x.blue, 2, second);
    const std::size_t at = second ? half_lanes : 0;
    if (form.layout == image_layout::nchw) {
      hn::StoreU(red, elements, to + at);
      hn::StoreU(green, elements, to + plane + at);
      hn::StoreU(blue, elements, to + 2 * plane + at);
    } else {
      hn::StoreInterleaved3(red, green, blue, elements, to + 3 * at);
    }
  }
}

template <class Convert>
void write_as(const resample_kernels::pixel_row& row) {
  using element = typename Convert::element;
  auto* to = reinterpret_cast<element*>(row.to);
  const auto plane = row.plane_bytes / sizeof(element);
  const bool is_planes = row.layout == image_layout::nchw;
  std::size_t x = 0;
  for (; x + lanes <= row.width; x += lanes)
    store<Convert>(pixels_at(row, x), row, to + (is_planes ? x : 3 * x), plane);
  if (x == row.width)
    return;
  // The memory after the row belongs to others.
  element last[3 * lanes];
  store<Convert>(pixels_at(row, x), row, last, lanes);
  const auto left = row.width - x;
  if (is_planes)
    for (std::size_t c = 0; c < 3; ++c)
      std::copy_n(last + c * lanes, left, to + c * plane + x);
  else
    std::copy_n(last, 3 * left, to + 3 * x);
}

void write(const resample_kernels::pixel_row& row) {
  switch (row.type) {
  case dtype::u8:
    return write_as<as_u8>(row);
  case dtype::f16:
    return write_as<as_f16>(row);
  case dtype::bf16:
    return write_as<as_bf16>(row);
  default:
    return write_as<as_f32>(row);
  }
}

resample_kernels variant() {
  return {lanes, narrow, narrow_wide, write};
}

} // namespace
} // namespace leat::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace leat {

HWY_EXPORT(variant);

resample_kernels resample_kernels::best() {
  return HWY_DYNAMIC_DISPATCH(variant)();
}

} // namespace leat

#endif
