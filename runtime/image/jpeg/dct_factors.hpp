#pragma once

namespace leat::dct_factors {

// Factors of libjpeg's exact inverse DCT (jidctint.c, jidctred.c), as whole numbers.

inline constexpr int scale_bits = 13;
/// More of them, which the first pass keeps.
inline constexpr int extra_bits = 2;

/// x * 2^13, rounded.
constexpr int fixed(double x) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): of numbers above zero, at compile time
  return static_cast<int>(x * (1 << scale_bits) + 0.5);
}

inline constexpr int f_0_211 = fixed(0.211164243);
inline constexpr int f_0_298 = fixed(0.298631336);
inline constexpr int f_0_390 = fixed(0.390180644);
inline constexpr int f_0_509 = fixed(0.509795579);
inline constexpr int f_0_541 = fixed(0.541196100);
inline constexpr int f_0_601 = fixed(0.601344887);
inline constexpr int f_0_720 = fixed(0.720959822);
inline constexpr int f_0_765 = fixed(0.765366865);
inline constexpr int f_0_850 = fixed(0.850430095);
inline constexpr int f_0_899 = fixed(0.899976223);
inline constexpr int f_1_061 = fixed(1.061594337);
inline constexpr int f_1_175 = fixed(1.175875602);
inline constexpr int f_1_272 = fixed(1.272758580);
inline constexpr int f_1_451 = fixed(1.451774981);
inline constexpr int f_1_501 = fixed(1.501321110);
inline constexpr int f_1_847 = fixed(1.847759065);
inline constexpr int f_1_961 = fixed(1.961570560);
inline constexpr int f_2_053 = fixed(2.053119869);
inline constexpr int f_2_172 = fixed(2.172734803);
inline constexpr int f_2_562 = fixed(2.562915447);
inline constexpr int f_3_072 = fixed(3.072711026);
inline constexpr int f_3_624 = fixed(3.624509785);

} // namespace leat::dct_factors
