#pragma once

#include "runtime/jpeg/scan_decoder.hpp"

#include <cstddef>
#include <cstdint>

namespace leat {

/// Turns coefficients into samples, many blocks at once, with the vectors of this processor.
/// All variants give the same bits: those of libjpeg-turbo's accurate integer transform.
/// Source: jidctint.c and jidctint-sse2.asm of libjpeg-turbo; C. Loeffler, A. Ligtenberg, G.
/// Moschytz, "Practical Fast 1-D DCT Algorithms with 11 Multiplications", ICASSP 1989.
struct inverse_dct {
  coefficient_group group;
  /// Multiplies a group with 64 factors (row by row), transforms it, and writes 8 rows of samples,
  /// `group.row()` bytes each, `stride` bytes apart. Leaves zeros where the coefficients were.
  /// False: the first row is so far out of range that libjpeg-turbo's samples may be others.
  bool (*transform)(std::int16_t* coefficients, const std::uint16_t* quantisation,
                    std::uint8_t* samples, std::size_t stride) = nullptr;

  /// The fastest of those that this processor has, and that `simd_targets` allows.
  static inverse_dct best();
};

} // namespace leat
