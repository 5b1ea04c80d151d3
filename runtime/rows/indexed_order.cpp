#include "runtime/rows/indexed_order.hpp"

#include <algorithm>

namespace leat {

bool indexed_order::open(planned_batch& batch) {
  batch.rows = 0;
  if (next_.epoch >= epochs_) {
    batch.plan = {.what = batch_plan::kind::end};
    return true;
  }
  const bool is_last = !shape_.is_endless() && next_.step + 1 >= shape_.batches();
  const auto first = next_.step * shape_.batch_rows;
  const auto last = shape_.is_endless() ? first + shape_.batch_rows
                                        : std::min(first + shape_.batch_rows, shape_.positions());
  for (auto p = first + (rank_ + world_size_ - first % world_size_) % world_size_; p < last;
       p += world_size_) {
    auto& row = batch.add();
    row.epoch = next_.epoch;
    row.position = p;
    row.own = shape_.item_at(next_.epoch, p);
  }
  batch.plan = {
      .epoch = next_.epoch, .step = next_.step, .end_of_epoch = is_last, .horizon = horizon()};
  next_ = is_last ? job_position{next_.epoch + 1, 0} : job_position{next_.epoch, next_.step + 1};
  return true;
}

void indexed_order::begin_epoch(std::uint64_t epoch) {
  if (next_.epoch < epoch)
    next_ = {epoch, 0};
}

epoch_horizon indexed_order::horizon() const {
  if (shape_.is_endless())
    return endless_horizon;
  return next_.epoch < epochs_ ? epoch_horizon{shape_.batches(), true} : epoch_horizon{};
}

} // namespace leat
