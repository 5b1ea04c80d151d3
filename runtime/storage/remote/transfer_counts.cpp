#include "runtime/storage/remote/transfer_counts.hpp"

#include "runtime/base/metrics.hpp"
#include "runtime/base/threads/fork_check.hpp"

namespace leat {

void budget_wait::set(bool waits) noexcept {
  if (waits == waits_)
    return;
  waits_ = waits;
  const auto now = steady_ns();
  if (waits) {
    counts_.budget_waits.fetch_add(1, std::memory_order_relaxed);
    counts_.without_budget.enter(now);
  } else
    counts_.without_budget.leave(now);
}

byte_wait::byte_wait(transfer_counts& counts) noexcept : counts_(counts) {
  counts_.waiting.enter(steady_ns());
}

byte_wait::~byte_wait() {
  counts_.waiting.leave(steady_ns());
}

transfer_counts& process_counts() noexcept {
  static transfer_counts first;
  if (!is_maimed_by_fork())
    return first;
  static transfer_counts of_child;
  return of_child;
}

} // namespace leat
