#include "runtime/rows/row_assignment.hpp"

namespace leat {

chunk chunk_of(const std::shared_ptr<batch_slot>& slot) {
  return {.slot = slot,
          .ticket = slot->ticket(),
          .limit = slot->num_rows(),
          .is_batch = slot->holds_batch(),
          .turns = slot->holds_turns()};
}

std::vector<chunk> row_assignment::deal(const std::shared_ptr<batch_slot>& slot,
                                        const std::vector<std::uint32_t>& workers) const {
  std::vector<chunk> chunks(workers.size(), chunk_of(slot));
  if (slot->is_claimable()) {
    for (auto& x : chunks)
      x.claims = true;
    return chunks;
  }
  for (std::size_t row = 0; row < slot->num_rows(); ++row) {
    const auto i = worker_for(row, slot->request(row).position, workers.size());
    slot->holder(row).owner.store(workers[i] + 1, std::memory_order_relaxed);
    chunks[i].rows.push_back(static_cast<std::uint32_t>(row));
  }
  return chunks;
}

std::size_t row_assignment::worker_for(std::size_t row, std::uint64_t position,
                                       std::size_t workers) const noexcept {
  if (policy_ == dispatch_policy::round_robin)
    return row % workers;
  const auto lane = position % lanes_;
  // A rank that owns whole lanes has l, l + W, l + 2W, ...: they are counted without the gaps.
  return (lanes_ % world_size_ == 0 ? lane / world_size_ : lane) % workers;
}

} // namespace leat
