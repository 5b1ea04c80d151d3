#include "runtime/worker_board.hpp"

#include <algorithm>

namespace leat {

std::shared_ptr<worker_record> worker_board::add(std::size_t number) {
  auto record = std::make_shared<worker_record>();
  std::lock_guard lock{mutex_};
  record->number = number;
  record->id = static_cast<std::uint32_t>(records_.size());
  records_.push_back(record);
  return record;
}

std::vector<std::shared_ptr<worker_record>> worker_board::all() const {
  std::lock_guard lock{mutex_};
  return records_;
}

std::shared_ptr<worker_record> worker_board::busy_since_before(std::int64_t limit_ns) const {
  std::shared_ptr<worker_record> result;
  std::int64_t oldest = limit_ns;
  for (const auto& x : all()) {
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
