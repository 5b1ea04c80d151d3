#pragma once

#include <cstdint>

namespace leat {

/// What ranks tell each other about the end of an epoch of unknown length.
struct epoch_agreement {
  /// Number of batches of the epoch that the rank can fill, as far as it knows.
  std::int64_t batches = 0;
  /// 1: there will be no more.
  std::int64_t is_final = 0;
  /// 1: the rank has failed.
  std::int64_t has_failed = 0;
};

} // namespace leat
