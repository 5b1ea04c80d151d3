#pragma once

#include "runtime/image/jpeg/scan_decoder.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace leat {

/// Turns coefficients into samples, many blocks at once, with the vectors of this processor.
/// All variants give the same bits: those of libjpeg-turbo's accurate integer transform, and of its
/// transforms to fewer samples, which are the means of two, four or eight neighbours each way.
/// Source: jidctint.c, jidctred.c and their SSE2 versions in libjpeg-turbo; C. Loeffler, A.
/// Ligtenberg, G.
/// Moschytz, "Practical Fast 1-D DCT Algorithms with 11 Multiplications", ICASSP 1989.
struct inverse_dct {
  /// Multiplies a group with 64 factors (row by row), transforms it, and writes rows of samples,
  /// `stride` bytes apart, as many for each block as it has columns. Leaves zeros where the
  /// coefficients were.
  /// False: they are so far out of range that libjpeg-turbo's samples may be others.
  using function = bool (*)(std::int16_t* coefficients, const std::uint16_t* quantisation,
                            std::uint8_t* samples, std::size_t stride);

  coefficient_group group;
  /// To 1 x 1 (where all but the first coefficients are zeros), 2 x 2, 4 x 4, 8 x 8 samples.
  std::array<function, 4> functions{};

  function to(std::size_t samples) const noexcept {
    return functions[static_cast<std::size_t>(std::countr_zero(samples))];
  }

  /// The fastest of those that this processor has, and that `simd_targets` allows.
  static inverse_dct best();
};

} // namespace leat
