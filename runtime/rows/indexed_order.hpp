#pragma once

#include "runtime/order/order.hpp"
#include "runtime/rows/batch_order.hpp"

#include <cstdint>

namespace leat {

/// Batches of an indexed pipeline: the item at each position is computed.
class indexed_order final : public batch_order {
public:
  /// `epochs`: the job's length. The rank is below the world size.
  indexed_order(const epoch_geometry& shape, std::uint64_t rank, std::uint64_t world_size,
                std::uint64_t epochs, job_position start)
      : shape_(shape), rank_(rank), world_size_(world_size), epochs_(epochs), next_(start) {}

  bool open(planned_batch& batch) override;
  void begin_epoch(std::uint64_t epoch) override;
  /// The next batch to be opened is this one.
  void begin_at(job_position at) noexcept { next_ = at; }
  job_position next() const noexcept override { return next_; }
  /// Final, and the epoch's whole length.
  epoch_horizon horizon() const override;

private:
  epoch_geometry shape_;
  std::uint64_t rank_;
  std::uint64_t world_size_;
  std::uint64_t epochs_;
  job_position next_;
};

} // namespace leat
