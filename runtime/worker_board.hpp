#pragma once

#include "runtime/worker_record.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace leat {

/// The records of all workers that a loader ever had.
class worker_board {
public:
  /// Adds a record for a new worker with this number and a fresh id.
  std::shared_ptr<worker_record> add(std::size_t number);

  std::vector<std::shared_ptr<worker_record>> all() const;

  /// The worker that has been busy with one row for longest, since before `limit_ns`; if any.
  std::shared_ptr<worker_record> busy_since_before(std::int64_t limit_ns) const;

  /// When the longest running row began; now if no worker is busy.
  std::int64_t oldest_start_ns() const;

private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<worker_record>> records_;
};

} // namespace leat
