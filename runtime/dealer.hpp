#pragma once

#include "messages/chunk.hpp"
#include "runtime/batch_slot.hpp"
#include "runtime/order.hpp"

#include <leat/dispatch_policy.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// Where a job stands: the next batch.
struct job_position {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;

  friend bool operator==(const job_position&, const job_position&) = default;
};

/// Numbers the batches of one rank and decides who runs which rows. A plain value: the dispatcher
/// actor sends what it returns, and a loader without workers uses it directly.
class dealer {
public:
  /// `epochs`: the job's length. Rank below world size.
  dealer(const epoch_shape& shape, std::uint64_t rank, std::uint64_t world_size,
         std::uint64_t epochs, dispatch_policy policy, job_position start);

  /// Rows of this rank in any batch: ceil(G / world_size).
  std::size_t rows_per_batch() const noexcept;

  /// Opens the slot as the next batch, or marks it as the job's end.
  void open(batch_slot& slot);

  /// The chunks of an open slot for workers with these ids, one each. Under on_demand they claim;
  /// otherwise rows get their owners here.
  std::vector<chunk> deal(const std::shared_ptr<batch_slot>& slot,
                          const std::vector<std::uint32_t>& workers) const;

private:
  /// Index of the worker that gets a row under a fixed policy.
  std::size_t worker_for(std::size_t row, std::uint64_t position,
                         std::size_t workers) const noexcept;

  epoch_shape shape_;
  std::uint64_t rank_;
  std::uint64_t world_size_;
  std::uint64_t epochs_;
  dispatch_policy policy_;
  job_position next_;
};

} // namespace leat
