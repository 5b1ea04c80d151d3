#pragma once

#include <leat/hash128.hpp>

#include <cstdint>

namespace leat {

/// Where a loader resumes.
struct resume_point {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t global_step = 0;
  /// Digest of everything that this rank handed over before; after a restore in another world all
  /// of it is rank 0's.
  hash128 digest = {};
};

} // namespace leat
