#include "runtime/dealer.hpp"

#include <algorithm>

namespace leat {

dealer::dealer(const epoch_shape& shape, std::uint64_t rank, std::uint64_t world_size,
               std::uint64_t epochs, dispatch_policy policy, job_position start)
    : shape_(shape), rank_(rank), world_size_(world_size), epochs_(epochs), policy_(policy),
      next_(start) {}

std::size_t dealer::rows_per_batch() const noexcept {
  return (shape_.batch_rows + world_size_ - 1) / world_size_;
}

void dealer::open(batch_slot& slot) {
  if (next_.epoch >= epochs_) {
    slot.what = batch_slot::kind::end;
    slot.open(0);
    return;
  }
  slot.what = batch_slot::kind::batch;
  slot.epoch = next_.epoch;
  slot.step = next_.step;
  slot.claimable = policy_ == dispatch_policy::on_demand;
  slot.end_of_epoch = next_.step + 1 >= shape_.batches();
  const auto first = next_.step * shape_.batch_rows;
  const auto last = std::min(first + shape_.batch_rows, shape_.positions());
  std::size_t n = 0;
  for (auto p = first + (rank_ + world_size_ - first % world_size_) % world_size_; p < last;
       p += world_size_)
    slot.rows[n++].position = p;
  slot.open(n);
  next_ = slot.end_of_epoch ? job_position{next_.epoch + 1, 0}
                            : job_position{next_.epoch, next_.step + 1};
}

std::vector<chunk> dealer::deal(const std::shared_ptr<batch_slot>& slot,
                                const std::vector<std::uint32_t>& workers) const {
  std::vector<chunk> chunks(workers.size(),
                            chunk{slot, slot->generation, slot->num_rows, {}, false});
  if (slot->claimable) {
    for (auto& x : chunks)
      x.claims = true;
    return chunks;
  }
  for (std::size_t row = 0; row < slot->num_rows; ++row) {
    const auto i = worker_for(row, slot->rows[row].position, workers.size());
    slot->rows[row].owner.store(workers[i] + 1, std::memory_order_relaxed);
    chunks[i].rows.push_back(static_cast<std::uint32_t>(row));
  }
  return chunks;
}

std::size_t dealer::worker_for(std::size_t row, std::uint64_t position,
                               std::size_t workers) const noexcept {
  if (policy_ == dispatch_policy::round_robin)
    return row % workers;
  const auto lane = position % shape_.lanes;
  // Where a rank owns whole lanes they are l, l + W, l + 2W, ...: count them without the gaps.
  return (shape_.lanes % world_size_ == 0 ? lane / world_size_ : lane) % workers;
}

} // namespace leat
