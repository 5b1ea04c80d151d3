#include "runtime/base/error_in_flight.hpp"
#include "runtime/rows/indexed_order.hpp"
#include "runtime/rows/inline_order.hpp"
#include "runtime/rows/iterator_order.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/row_id.hpp"
#include "runtime/rows/weight_changes.hpp"

#include <leat/order.hpp>

#include <algorithm>

namespace leat {

namespace {

std::shared_ptr<const job_plan> plan_of(const pipeline& data, bad_sample_policy bad_samples) {
  auto [shape, samples] = plan_epochs(data);
  check_not_empty(shape, data);
  auto plan = std::make_shared<job_plan>();
  plan->shape = shape;
  plan->samples = std::move(samples);
  plan->layout = std::make_shared<batch_layout>();
  plan->bad_samples = bad_samples;
  return plan;
}

void check_epoch(std::uint64_t epoch, const epoch_geometry& shape) {
  if (shape.is_endless() && epoch != 0)
    refuse_argument("order_preview.epoch", std::to_string(epoch),
                    "0: with end \"cycle\" there is one epoch, without end");
  if (epoch == UINT64_MAX)
    refuse_argument("order_preview.epoch", std::to_string(epoch), "at most 2^64 - 2");
}

std::unique_ptr<batch_order> order_from(const job_plan& plan, const preview_options& from) {
  const auto& shape = plan.shape;
  auto changes = whole_changes("order_preview.weights", from.weights, *plan.samples, plan.shape);
  if (shape.is_indexed)
    return std::make_unique<indexed_order>(shape, 0, 1, from.epoch + 1,
                                           job_position{from.epoch, from.step});
  return std::make_unique<iterator_order>(
      plan.samples, shape, 0, 1, from.epoch + 1,
      iterator_start{.at = {from.epoch, 0}, .changes = std::move(changes)});
}

} // namespace

class order_preview::reader {
public:
  reader(std::shared_ptr<const job_plan> plan, const preview_options& from)
      : plan_(std::move(plan)), facts_(facts_of(plan_->shape)),
        looks_(plan_, std::make_shared<worker_record>()), order_(order_from(*plan_, from), looks_),
        orders_(plan_->samples->num_shuffles) {
    check_epoch(from.epoch, plan_->shape);
    is_over_ = facts_.batches && from.step >= *facts_.batches;
    if (!facts_.is_indexed)
      for (auto step = from.step; step > 0 && open(); --step)
        ;
  }

  std::optional<due_batch> next() {
    const auto* batch = open();
    if (!batch)
      return std::nullopt;
    due_batch due{.epoch = batch->plan.epoch, .step = batch->plan.step};
    for (std::size_t i = 0; i < batch->rows; ++i) {
      const auto& row = batch->requests[i];
      due.positions.push_back(row.position);
      auto& id = due.ids.emplace_back();
      append_id(row, row.own, *plan_->samples, plan_->shape.lanes, orders_, id);
      due.digest += row_digest(row.epoch, row.position, id);
    }
    return due;
  }

  const epoch_facts& facts() const noexcept { return facts_; }

private:
  /// Null after the epoch's last batch.
  const planned_batch* open() {
    if (is_over_)
      return nullptr;
    const auto& batch = order_.next();
    if (batch.plan.what == batch_plan::kind::failed)
      throw error(*batch.plan.failure);
    is_over_ = batch.plan.what != batch_plan::kind::batch;
    return is_over_ ? nullptr : &batch;
  }

  std::shared_ptr<const job_plan> plan_;
  epoch_facts facts_;
  row_runner looks_;
  inline_order order_;
  order_cache orders_;
  bool is_over_ = false;
};

order_preview::order_preview(const pipeline& data, const preview_options& from)
    : reader_(std::make_unique<reader>(plan_of(data, from.bad_samples), from)) {}

order_preview::~order_preview() = default;
order_preview::order_preview(order_preview&&) noexcept = default;
order_preview& order_preview::operator=(order_preview&&) noexcept = default;

std::optional<due_batch> order_preview::next() {
  return reader_->next();
}

const epoch_facts& order_preview::epoch() const noexcept {
  return reader_->facts();
}

} // namespace leat
