#include "tools/leat/order_lines.hpp"

#include "runtime/rows/digest.hpp"
#include "runtime/rows/indexed_order.hpp"
#include "runtime/rows/iterator_order.hpp"
#include "runtime/rows/row_id.hpp"

#include <leat/error.hpp>

namespace leat::command {

order_lines::order_lines(const pipeline& job, std::uint64_t epoch, std::uint64_t step)
    : plan_(plan_of(job)), epoch_(epoch), looks_(plan_, std::make_shared<worker_record>()),
      order_(make_order(step), looks_), orders_(plan_->samples->num_shuffles) {
  if (shape().is_endless() && epoch_ != 0)
    throw error(errc::invalid_argument,
                {.stage = "--epoch",
                 .got = std::to_string(epoch_),
                 .needed = "0: with end \"cycle\" there is one epoch, without end"});
  if (!plan_->shape.is_indexed)
    while (step-- > 0 && open())
      ;
}

std::shared_ptr<const job_plan> order_lines::plan_of(const pipeline& job) {
  auto [shape, samples] = plan_epochs(job);
  check_not_empty(shape);
  auto plan = std::make_shared<job_plan>();
  plan->shape = shape;
  plan->samples = std::move(samples);
  plan->layout = std::make_shared<batch_layout>();
  return plan;
}

std::unique_ptr<batch_order> order_lines::make_order(std::uint64_t step) const {
  const auto& shape = plan_->shape;
  if (shape.is_indexed)
    return std::make_unique<indexed_order>(shape, 0, 1, epoch_ + 1, job_position{epoch_, step});
  return std::make_unique<iterator_order>(plan_->samples, shape, 0, 1, epoch_ + 1,
                                          iterator_start{{epoch_, 0}});
}

const planned_batch* order_lines::open() {
  const auto& batch = order_.next();
  if (batch.plan.what == batch_plan::kind::failed)
    throw error(*batch.plan.failure);
  return batch.plan.what == batch_plan::kind::batch ? &batch : nullptr;
}

std::optional<batch_line> order_lines::next() {
  const auto* batch = open();
  if (!batch)
    return std::nullopt;
  batch_line line{.epoch = batch->plan.epoch, .step = batch->plan.step};
  for (std::size_t i = 0; i < batch->rows; ++i) {
    const auto& row = batch->requests[i];
    line.positions.push_back(row.position);
    auto& id = line.ids.emplace_back();
    append_id(row, row.own, *plan_->samples, plan_->shape.lanes, orders_, id);
    line.digest += row_digest(row.epoch, row.position, id);
  }
  return line;
}

} // namespace leat::command
