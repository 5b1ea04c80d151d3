#include "runtime/resample_avx2.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#define LEAT_AVX2 __attribute__((target("avx2")))

namespace leat {

namespace {

constexpr std::int32_t half = 1 << (resample_axis::weight_bits - 1);

/// Sums of 22-bit weights, kept apart as high and low halves: 16-bit products are exact and cheap.
struct sums {
  __m256i high;
  __m256i low;
};

LEAT_AVX2 inline void add(sums& to, __m256i pixels, const resample_axis::tap_pair& weights) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(weights.high));
  const __m256i low = _mm256_set1_epi32(static_cast<int>(weights.low));
  to.high = _mm256_add_epi32(to.high, _mm256_madd_epi16(pixels, high));
  to.low = _mm256_add_epi32(to.low, _mm256_madd_epi16(pixels, low));
}

LEAT_AVX2 inline __m256i finish(const sums& x) {
  const __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(x.high, resample_axis::split_bits), x.low);
  return _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(half)),
                           resample_axis::weight_bits);
}

LEAT_AVX2 inline __m256i load_two(const std::uint8_t* a, const std::uint8_t* b) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)), 1);
}

/// Steps of four taps each: `Quads` of them, or axis.taps / 4 where that is 0.
template <std::size_t Quads>
LEAT_AVX2 void rows_of(const resample_axis& axis, std::size_t origin,
                       const std::uint8_t* const in[2], std::uint8_t* const out[2]) {
  // 16-bit lanes r0 r1 g0 g1 b0 b1 - - of taps 0 and 1, and the same of taps 2 and 3.
  const __m256i front = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i back = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  const std::size_t quads = Quads != 0 ? Quads : axis.taps / 4;
  const auto* weights = axis.pairs.data();
  for (std::size_t i = 0; i < axis.first.size(); ++i) {
    const std::size_t at = 3 * (axis.first[i] - origin);
    sums total{_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (std::size_t q = 0; q < quads; ++q, weights += 2) {
      const __m256i pixels = load_two(in[0] + at + 12 * q, in[1] + at + 12 * q);
      add(total, _mm256_shuffle_epi8(pixels, front), weights[0]);
      add(total, _mm256_shuffle_epi8(pixels, back), weights[1]);
    }
    const __m256i wide = finish(total);
    const __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(wide, wide), wide);
    // Four bytes each: the fourth is overwritten by the next pixel.
    const int first = _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes));
    const int second = _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1));
    std::memcpy(out[0] + 3 * i, &first, sizeof first);
    std::memcpy(out[1] + 3 * i, &second, sizeof second);
  }
}

void rows(const resample_axis& axis, std::size_t origin, const std::uint8_t* const in[2],
          std::uint8_t* const out[2]) {
  switch (axis.taps) {
  case 4:
    return rows_of<1>(axis, origin, in, out);
  case 8:
    return rows_of<2>(axis, origin, in, out);
  default:
    return rows_of<0>(axis, origin, in, out);
  }
}

LEAT_AVX2 inline __m256i widen(const std::uint8_t* bytes) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

LEAT_AVX2 void column(const resample_axis& axis, std::size_t i, const std::uint8_t* const* in,
                      std::size_t bytes, std::uint8_t* out) {
  constexpr std::size_t lanes = resample_kernels::column_step;
  const auto* weights = axis.pairs.data() + i * axis.taps / 2;
  for (std::size_t k = 0; k < bytes; k += lanes) {
    sums even{_mm256_setzero_si256(), _mm256_setzero_si256()};
    sums odd = even;
    for (std::size_t t = 0; t < axis.taps; t += 2) {
      const __m256i a = widen(in[t] + k);
      const __m256i b = widen(in[t + 1] + k);
      add(even, _mm256_unpacklo_epi16(a, b), weights[t / 2]);
      add(odd, _mm256_unpackhi_epi16(a, b), weights[t / 2]);
    }
    // Packing undoes the unpacking within each half.
    const __m256i words = _mm256_packus_epi32(finish(even), finish(odd));
    const __m128i packed =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + k), packed);
  }
}

} // namespace

bool has_avx2() noexcept {
  return __builtin_cpu_supports("avx2") != 0;
}

resample_kernels avx2_resample_kernels() noexcept {
  return {rows, column};
}

} // namespace leat

#else

namespace leat {

bool has_avx2() noexcept {
  return false;
}

resample_kernels avx2_resample_kernels() noexcept {
  return plain_resample_kernels();
}

} // namespace leat

#endif
