#include "demos/command/order_lines.hpp"

#include "runtime/digest.hpp"

#include <leat/error.hpp>

#include <algorithm>

namespace leat::command {

order_lines::order_lines(const pipeline& job, std::uint64_t epoch)
    : plan_(plan_epochs(job)), orders_(plan_.samples->num_shuffles), epoch_(epoch) {
  check_not_empty(plan_.shape);
}

batch_line order_lines::line(std::uint64_t step) {
  batch_line line{.epoch = epoch_, .step = step};
  const auto& shape = plan_.shape;
  const auto begin = step * shape.batch_rows;
  const auto end = std::min(begin + shape.batch_rows, shape.positions());
  for (auto position = begin; position < end; ++position) {
    line.positions.push_back(position);
    auto& id = line.ids.emplace_back();
    plan_.samples->items->append_id({.item = position, .epoch = epoch_}, orders_, id);
    line.digest += row_digest(epoch_, position, id);
  }
  return line;
}

} // namespace leat::command
