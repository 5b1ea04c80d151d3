#include "runtime/rows/expecting_order.hpp"

#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/sample_graph.hpp"

#include <algorithm>
#include <utility>

namespace leat {

expecting_order::expecting_order(std::unique_ptr<batch_order> of,
                                 std::shared_ptr<const job_plan> plan,
                                 std::unique_ptr<batch_order> ahead)
    : of_(std::move(of)), plan_(std::move(plan)), ahead_(std::move(ahead)),
      orders_(plan_->samples->num_shuffles) {}

expecting_order::~expecting_order() {
  for (auto* x : told_)
    x->expect_nothing();
}

bool expecting_order::open(planned_batch& batch) {
  if (!of_->open(batch))
    return false;
  if (unwanted_ >= rows_to_find_out)
    return true;
  if (!ahead_) {
    expect(std::span{batch.requests}.first(batch.rows));
    return true;
  }
  rows_ahead_ -= std::min(rows_ahead_, batch.rows);
  look_ahead();
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
  if (unwanted_ < rows_to_find_out)
    expect(std::span{probe.requests}.first(probe.rows));
  return true;
}

/// The batch that was opened is among those that are told first: its rows are read at once.
void expecting_order::look_ahead() {
  while (rows_ahead_ < most_rows_ahead && unwanted_ < rows_to_find_out) {
    ahead_->open(scratch_);
    if (scratch_.plan.what != batch_plan::kind::batch)
      return;
    rows_ahead_ += scratch_.rows;
    expect(std::span{scratch_.requests}.first(scratch_.rows));
  }
}

void expecting_order::expect(std::span<const row_request> rows) noexcept {
  try {
    stored_objects* last = nullptr;
    for (const auto& row : rows) {
      if (unwanted_ >= rows_to_find_out)
        break;
      extents_.clear();
      auto* const objects = locate(row);
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

} // namespace leat
