#include "runtime/order/indexed_planner.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/pipeline.hpp>

// Separate from pipeline.cpp: a pipeline is a value that knows no orders, and its length follows
// from an order.

namespace leat {

std::uint64_t pipeline::size() const {
  return size_of(is_batch(*root_) ? *root_->inputs.front() : *root_);
}

std::optional<std::uint64_t> pipeline::batches_per_epoch() const {
  const auto shape = shape_of(*this);
  return shape.has_length() ? std::optional{shape.batches()} : std::nullopt;
}

} // namespace leat
