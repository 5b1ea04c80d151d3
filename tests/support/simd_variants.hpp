#pragma once

#include "runtime/image/jpeg/inverse_dct.hpp"
#include "runtime/image/pixels/resample_kernels.hpp"
#include "runtime/image/simd_targets.hpp"

#include <hwy/targets.h>

#include <string>
#include <vector>

namespace leat::test {

/// The vector code of one instruction set.
struct simd_variant {
  std::string name;
  inverse_dct transform;
  resample_kernels kernels;
};

/// The instruction sets that this processor supports, the best first, and plain C++ if the library
/// has it.
inline std::vector<simd_variant> simd_variants() {
  std::vector<simd_variant> result;
  const auto targets = hwy::SupportedAndGeneratedTargets();
  for (const auto target : targets) {
    hwy::GetChosenTarget().Update(target);
    result.push_back({hwy::TargetName(target), inverse_dct::best(), resample_kernels::best()});
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return result;
}

} // namespace leat::test
