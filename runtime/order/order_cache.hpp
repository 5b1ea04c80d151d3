#pragma once

#include "runtime/base/mutex.hpp"
#include "runtime/base/pass_number.hpp"
#include "runtime/order/order.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace leat {

/// The most recently used orders of one shuffle. Any thread.
class shared_orders {
public:
  explicit shared_orders(std::shared_ptr<const order_config> config) : config_(std::move(config)) {}

  std::shared_ptr<const epoch_order> get(std::uint64_t epoch, std::uint64_t pass);

private:
  mutex mutex_;
  std::shared_ptr<const order_config> config_;
  std::deque<std::shared_ptr<const epoch_order>> used_ LEAT_GUARDED_BY(mutex_);
};

/// The order that one thread used last, for each shuffle: most rows find theirs without a lock.
class order_cache {
public:
  explicit order_cache(std::size_t shuffles) : used_(shuffles) {}

  const epoch_order& get(std::size_t shuffle, shared_orders& all, std::uint64_t epoch,
                         pass_number in_pass) {
    const auto pass = pass_word(in_pass);
    auto& used = used_[shuffle];
    if (!used || used->epoch() != epoch || used->pass() != pass)
      used = all.get(epoch, pass);
    return *used;
  }

private:
  std::vector<std::shared_ptr<const epoch_order>> used_;
};

} // namespace leat
