#pragma once

#include "runtime/sequence.hpp"
#include "runtime/worker_record.hpp"

#include <leat/sample.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// What one thread needs to make samples: its copies of the maps, the orders that it used last,
/// samples for the other inputs of zips. Tells the worker's record which stage it is in.
class row_maker {
public:
  row_maker(std::shared_ptr<const sequence_plan> plan, std::shared_ptr<worker_record> record,
            std::uint64_t lanes, const std::atomic<bool>* cancelled);

  /// Makes an item for the row at `position` of the epoch in an emptied sample.
  /// Throws `bad_sample`, also for what user functions throw; `leat::error` (io, torn_file).
  void make(const place& at, std::uint64_t position, sample& into);

  order_cache& orders() noexcept { return orders_; }
  /// The other inputs' bytes count as read, too.
  std::uint64_t take_bytes_read();

  // For sequences.
  void read(std::size_t source, const leat::source& from, std::uint64_t record, sample& into);
  void map(std::size_t number, std::uint64_t birth, sample& into);
  /// Emptied.
  sample& side_sample(std::size_t number);
  /// False where no map draws: births are then of no use.
  bool needs_births() const noexcept { return !functions_.empty(); }

private:
  std::shared_ptr<const sequence_plan> plan_;
  std::shared_ptr<worker_record> record_;
  std::uint64_t lanes_;
  const std::atomic<bool>* cancelled_;
  order_cache orders_;
  std::vector<map_function> functions_;
  std::vector<std::unique_ptr<sample>> side_samples_;

  // Of the row in the making.
  std::uint64_t epoch_ = 0;
  std::uint64_t position_ = 0;
};

/// Fresh functions of all maps, for one worker. Throws `errc::invalid_argument` where a factory
/// throws.
std::vector<map_function> make_functions(const std::vector<map_stage>& maps);

} // namespace leat
