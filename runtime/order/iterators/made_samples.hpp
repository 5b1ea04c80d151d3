#pragma once

#include "runtime/base/mutex.hpp"
#include "runtime/order/input_counts.hpp"
#include "runtime/sample/item.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// The sample that a worker probed, kept for the next round.
struct made_sample final : payload {
  mutable sample content;
  std::uint64_t sample_key = 0;
  /// What inputs of mixes gave to it.
  input_counts given = {};
  /// Of its memory: see made_samples.
  std::size_t bytes = 0;
};

/// Samples that were kept and are not needed any more: the next ones use their memory again. They
/// are dropped by whatever thread has them last, and freed there one by one they would cost more
/// than all that is done for a short document.
class made_samples : public std::enable_shared_from_this<made_samples> {
public:
  /// More than a rank's lanes have in flight at most times.
  static constexpr std::size_t most_samples = 1024;
  /// A larger sample is freed.
  static constexpr std::size_t most_bytes_each = 65536;

  /// One whose content is that of an older sample: it is to be reset. Its maker says how many bytes
  /// of memory it has in the end. Any thread.
  std::shared_ptr<made_sample> take();

private:
  void put_back(std::unique_ptr<made_sample> x) noexcept;

  mutex mutex_;
  std::vector<std::unique_ptr<made_sample>> free_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
