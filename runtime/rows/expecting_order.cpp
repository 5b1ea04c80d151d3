#include "runtime/rows/expecting_order.hpp"

#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/sample_graph.hpp"

#include <algorithm>
#include <utility>

namespace leat {

expecting_order::expecting_order(std::unique_ptr<batch_order> of,
                                 std::shared_ptr<const job_plan> plan,
                                 std::unique_ptr<indexed_order> ahead)
    : of_(std::move(of)), plan_(std::move(plan)), ahead_(std::move(ahead)),
      orders_(plan_->samples->num_shuffles) {}

expecting_order::~expecting_order() {
  for (auto* x : told_)
    x->expect_nothing();
}

bool expecting_order::open(planned_batch& batch) {
  const auto at = of_->next();
  if (!of_->open(batch))
    return false;
  rows_ahead_ -= std::min(rows_ahead_, batch.rows);
  if (nobody_listens() && at.step % batches_to_pass != 0)
    return true;
  if (ahead_)
    look_ahead(at);
  else
    expect(std::span{batch.requests}.first(batch.rows));
  return true;
}

void expecting_order::begin_epoch(std::uint64_t epoch) {
  of_->begin_epoch(epoch);
  if (ahead_)
    ahead_->begin_epoch(epoch);
}

bool expecting_order::open_probe(planned_batch& probe, std::size_t most) {
  if (!of_->open_probe(probe, most))
    return false;
  expect(std::span{probe.requests}.first(probe.rows));
  return true;
}

/// The batch that was opened, `from`, is among those that are told first: its rows are read at
/// once.
void expecting_order::look_ahead(job_position from) {
  if (ahead_->next() < from) {
    ahead_->begin_at(from);
    rows_ahead_ = 0;
  }
  while (rows_ahead_ < most_rows_ahead) {
    ahead_->open(scratch_);
    if (scratch_.plan.what != batch_plan::kind::batch)
      return;
    rows_ahead_ += scratch_.rows;
    expect(std::span{scratch_.requests}.first(scratch_.rows));
    if (nobody_listens())
      return;
  }
}

void expecting_order::expect(std::span<const row_request> rows) noexcept {
  try {
    stored_objects* last = nullptr;
    for (std::size_t i = 0; i < rows.size() && (i == 0 || !nobody_listens()); ++i) {
      extents_.clear();
      auto* const objects = locate(rows[i]);
      if (!objects) {
        ++unwanted_;
        continue;
      }
      if (objects != last)
        tell(std::exchange(last, objects));
      for (const auto& x : extents_)
        ranges_.push_back({x.file, x.offset, x.size});
      if (unwanted_ > 0 || told_.empty()) // finds out at once whether anybody listens
        tell(last);
    }
    tell(last);
  } catch (...) { // the rows themselves will say what is wrong
    ranges_.clear();
  }
}

void expecting_order::tell(stored_objects* to) {
  if (to && !ranges_.empty()) {
    if (!to->expect_soon(ranges_))
      ++unwanted_;
    else {
      unwanted_ = 0;
      if (std::find(told_.begin(), told_.end(), to) == told_.end())
        told_.push_back(to);
    }
  }
  ranges_.clear();
}

stored_objects* expecting_order::locate(const row_request& row) {
  const auto& samples = *plan_->samples;
  if (plan_->shape.is_indexed)
    return samples.items->locate({.item = row.own.item, .epoch = row.own.epoch}, orders_, extents_);
  item_reader from{row.what};
  return (row.edge ? *samples.edges[*row.edge].input : *samples.iterator).locate(from, extents_);
}

void expect_first_rows(const job_plan& plan, std::uint64_t rank,
                       std::uint64_t world_size) noexcept {
  constexpr std::size_t most_rows = 256;
  try {
    order_cache orders{plan.samples->num_shuffles};
    std::vector<extent> extents;
    std::vector<expected_range> ranges;
    const auto locate = [&](std::uint64_t item, std::uint64_t epoch) {
      extents.clear();
      ranges.clear();
      auto* const objects =
          plan.samples->items->locate({.item = item, .epoch = epoch}, orders, extents);
      for (const auto& y : extents)
        ranges.push_back({y.file, y.offset, y.size});
      return objects;
    };
    auto* const first = locate(0, 0);
    if (!first || !first->expect_perhaps(ranges))
      return;
    planned_batch batch;
    indexed_order order{plan.shape, rank, world_size, 1, {}};
    if (!order.open(batch) || batch.plan.what != batch_plan::kind::batch)
      return;
    for (std::size_t i = 0; i < std::min(batch.rows, most_rows); ++i) {
      const auto& row = batch.requests[i].own;
      if (auto* const objects = locate(row.item, row.epoch))
        objects->expect_perhaps(ranges);
    }
  } catch (...) { // the rows themselves will say what is wrong
  }
}

} // namespace leat
