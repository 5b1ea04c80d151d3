#pragma once

#include "tests/support/standard.hpp"

#include <leat/leat.hpp>

namespace leat {

/// Passes leases to another thread, with a limit on the number that have not been dropped yet.
class lease_line {
public:
  explicit lease_line(std::size_t most) : most_(most) {}

  /// Waits until there is room for one more.
  void make_room() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return out_ < most_; });
    ++out_;
  }
  void push(lease x) {
    std::lock_guard lock{mutex_};
    leases_.push_back(std::move(x));
    changed_.notify_all();
  }
  /// An empty lease is the last.
  lease pop() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return !leases_.empty(); });
    auto x = std::move(leases_.front());
    leases_.pop_front();
    return x;
  }
  void dropped() {
    std::lock_guard lock{mutex_};
    --out_;
    changed_.notify_all();
  }

private:
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<lease> leases_;
  std::size_t out_ = 0;
};

} // namespace leat
