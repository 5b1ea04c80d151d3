#pragma once

// What every file with vector code includes before Highway's headers: which instruction sets it is
// compiled for.

// Vectors of unknown length have another order of lanes within pairs; none of those was tried. The
// other names are left out to build in less time: few processors have SSSE3 and not SSE4,
// and what the later sets add to AVX3 is not used.
// Bits 4 and 6 are AVX3_SPR and AVX3_ZEN4, which older versions of Highway have no names for.
#define HWY_DISABLED_TARGETS                                                                       \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3 | HWY_AVX3_DL             \
   | (1LL << 4) | (1LL << 6))
// Processors without any of them take vectors of 128 bits in plain C++. Highway keeps these from
// g++ before 12.3 for one wrong operation (GCC PR 106322), the high half of products, which is not
// used.
#define HWY_BROKEN_EMU128 0
