#include "runtime/rows/formula_order.hpp"

#include <algorithm>

namespace leat {

bool formula_order::open(batch_slot& slot) {
  if (next_.epoch >= epochs_) {
    slot.open({.what = batch_slot::kind::end}, 0);
    return true;
  }
  const bool is_last = !shape_.is_endless() && next_.step + 1 >= shape_.batches();
  const auto first = next_.step * shape_.batch_rows;
  const auto last = shape_.is_endless() ? first + shape_.batch_rows
                                        : std::min(first + shape_.batch_rows, shape_.positions());
  std::size_t n = 0;
  for (auto p = first + (rank_ + world_size_ - first % world_size_) % world_size_; p < last;
       p += world_size_) {
    auto& row = slot.rows[n++];
    row.position = p;
    row.delivered = shape_.item_at(next_.epoch, p);
  }
  slot.open({.epoch = next_.epoch, .step = next_.step, .end_of_epoch = is_last}, n);
  next_ = is_last ? job_position{next_.epoch + 1, 0} : job_position{next_.epoch, next_.step + 1};
  return true;
}

void formula_order::begin_epoch(std::uint64_t epoch) {
  if (next_.epoch < epoch)
    next_ = {epoch, 0};
}

} // namespace leat
