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
  sum.iterating += std::chrono::nanoseconds{x.iterating_ns.load(std::memory_order_relaxed)};
  sum.batch_rows += x.batch_rows.load(std::memory_order_relaxed);
  sum.on_batches += std::chrono::nanoseconds{x.batch_ns.load(std::memory_order_relaxed)};
  sum.probe_rows += x.probe_rows.load(std::memory_order_relaxed);
  sum.on_probes += std::chrono::nanoseconds{x.probe_ns.load(std::memory_order_relaxed)};
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
  records_.push_back({record});
  return record;
}

void worker_board::add_up_gone() {
  const auto first_gone =
      std::stable_partition(records_.begin(), records_.end(), [](const auto& x) {
        // A record that only this board has is out of anyone's reach. It is copied because the
        // decrement of the count comes after everything that the worker wrote; use_count() alone
        // says nothing about order.
        auto ours = x.record;
        const bool is_there = ours.use_count() > 2;
        ours.reset();
        return is_there;
      });
  for (auto x = first_gone; x != records_.end(); ++x)
    add_to(gone_, *x->record);
  records_.erase(first_gone, records_.end());
}

std::vector<worker_sums> worker_board::sums() const {
  mutex_lock lock{mutex_};
  auto result = gone_;
  for (const auto& x : records_)
    add_to(result, *x.record);
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

std::int64_t worker_board::entry::since_ns(std::int64_t now) const noexcept {
  const auto since = record->since_ns.load(std::memory_order_relaxed);
  if (const auto n = record->calls.number(); n != calls) {
    calls = n;
    seen_ns = now;
  }
  return since == 0 ? 0 : std::max(since, seen_ns);
}

const worker_board::entry* worker_board::longest_busy(std::int64_t now, std::int64_t& since) const {
  const entry* result = nullptr;
  for (const auto& x : records_) {
    const auto begin = x.since_ns(now);
    if (begin != 0 && begin < since) {
      since = begin;
      result = &x;
    }
  }
  return result;
}

std::shared_ptr<worker_record> worker_board::busy_since_before(std::int64_t limit_ns) const {
  mutex_lock lock{mutex_};
  const auto* x = longest_busy(steady_ns(), limit_ns);
  return x ? x->record : nullptr;
}

std::int64_t worker_board::oldest_start_ns() const {
  mutex_lock lock{mutex_};
  const auto now = steady_ns();
  auto since = now;
  (void)longest_busy(now, since);
  return since;
}

} // namespace leat
