#include "runtime/rows/worker_board.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

void add_to(std::vector<worker_sums>& sums, const worker_record& x) {
  if (sums.size() <= x.number)
    sums.resize(x.number + 1);
  auto& sum = sums[x.number];
  sum.rows_dealt += x.rows_dealt.load(std::memory_order_relaxed);
  sum.rows_done += x.rows_done.load(std::memory_order_relaxed);
  sum.busy += std::chrono::nanoseconds{x.busy_ns.load(std::memory_order_relaxed)};
  sum.bytes_read += x.bytes_read.load(std::memory_order_relaxed);
  sum.elements_packed += x.elements_packed.load(std::memory_order_relaxed);
  sum.elements_padded += x.elements_padded.load(std::memory_order_relaxed);
  sum.stages.resize(std::max(sum.stages.size(), x.clock.num_stages() + 1));
  for (std::size_t i = 0; i <= x.clock.num_stages(); ++i)
    sum.stages[i] += x.clock.time_in(i);
}

} // namespace

void worker_board::measure(std::size_t num_stages,
                           std::function<row_tracing(std::size_t number)> tracing) {
  const mutex_lock lock{mutex_};
  num_stages_ = num_stages;
  tracing_ = std::move(tracing);
}

std::shared_ptr<worker_record> worker_board::add(std::size_t number) {
  auto record = std::make_shared<worker_record>();
  mutex_lock lock{mutex_};
  add_up_gone();
  record->clock.prepare(num_stages_, tracing_ ? tracing_(number) : row_tracing{});
  record->number = number;
  record->id = next_id_++;
  records_.push_back(record);
  return record;
}

void worker_board::add_up_gone() {
  const auto first_gone =
      std::stable_partition(records_.begin(), records_.end(), [](const auto& x) {
        // A record that only this board has is out of anyone's reach. It is copied because the
        // decrement of the count comes after everything that the worker wrote; use_count() alone
        // says nothing about order.
        auto ours = x;
        const bool is_there = ours.use_count() > 2;
        ours.reset();
        return is_there;
      });
  for (auto x = first_gone; x != records_.end(); ++x)
    add_to(gone_, **x);
  records_.erase(first_gone, records_.end());
}

std::vector<worker_sums> worker_board::sums() const {
  mutex_lock lock{mutex_};
  auto result = gone_;
  for (const auto& x : records_)
    add_to(result, *x);
  return result;
}

std::size_t worker_board::num_workers() const {
  mutex_lock lock{mutex_};
  return next_id_;
}

std::size_t worker_board::num_records() const {
  mutex_lock lock{mutex_};
  return records_.size();
}

std::shared_ptr<worker_record> worker_board::busy_since_before(std::int64_t limit_ns) const {
  mutex_lock lock{mutex_};
  std::shared_ptr<worker_record> result;
  std::int64_t oldest = limit_ns;
  for (const auto& x : records_) {
    const auto since = x->since_ns.load(std::memory_order_relaxed);
    if (since != 0 && since < oldest) {
      oldest = since;
      result = x;
    }
  }
  return result;
}

std::int64_t worker_board::oldest_start_ns() const {
  auto now = steady_ns();
  auto record = busy_since_before(now);
  return record ? std::min(now, record->since_ns.load(std::memory_order_relaxed)) : now;
}

} // namespace leat
