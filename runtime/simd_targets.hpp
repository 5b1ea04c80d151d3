#pragma once

// What every file with vector code includes before Highway's headers: which instruction sets it is
// compiled for.

// Vectors of unknown length have another order of lanes within pairs; none of those was tried.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
// Processors without any of them take vectors of 128 bits in plain C++. Highway keeps these from
// g++ before 12.3 for one wrong operation (GCC PR 106322), the high half of products, which is not
// used.
#define HWY_BROKEN_EMU128 0
