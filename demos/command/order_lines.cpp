#include "demos/command/order_lines.hpp"

#include "runtime/digest.hpp"
#include "runtime/row_plan.hpp"

#include <leat/error.hpp>

#include <algorithm>

namespace leat::command {

order_lines::order_lines(const pipeline& job, std::uint64_t epoch)
    : shape_(shape_of(job)), samples_(plan_sequence(*job.root().inputs.front(), shape_.lanes)),
      orders_(samples_.num_shuffles), epoch_(epoch) {
  check_not_empty(shape_);
}

batch_line order_lines::line(std::uint64_t step) {
  batch_line line{.epoch = epoch_, .step = step};
  const auto begin = step * shape_.batch_rows;
  const auto end = std::min(begin + shape_.batch_rows, shape_.positions());
  for (auto position = begin; position < end; ++position) {
    line.positions.push_back(position);
    auto& id = line.ids.emplace_back();
    samples_.items->append_id({.item = position, .epoch = epoch_}, orders_, id);
    line.digest += row_digest(epoch_, position, id);
  }
  return line;
}

} // namespace leat::command
