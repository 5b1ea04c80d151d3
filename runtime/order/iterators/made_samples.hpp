#pragma once

#include "runtime/order/input_counts.hpp"
#include "runtime/sample/item.hpp"
#include "runtime/storage/object_pool.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>

namespace leat {

/// The sample that a worker probed, kept for the next round.
struct made_sample final : payload {
  /// A larger one is freed after its use.
  static constexpr std::size_t most_bytes = 65536;

  mutable sample content;
  std::uint64_t sample_key = 0;
  /// What inputs of mixes gave to it.
  input_counts given = {};
  /// Bytes of its memory: its maker says how many.
  std::size_t bytes = 0;

  bool renew() const noexcept { return bytes <= most_bytes; }
};

/// More than a rank's lanes have in flight at most times.
inline constexpr std::size_t most_samples_kept = 1024;

/// Samples that were kept and are not needed any more: the next ones use their memory again, and
/// are to be reset.
using made_samples = object_pool<made_sample>;

} // namespace leat
