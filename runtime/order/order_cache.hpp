#pragma once

#include "runtime/base/pass_number.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/order/order.hpp"

#include <array>
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

/// The order that one thread used last, for each shuffle, and the last records that it found: most
/// rows find their order without a lock, and those that were expected their record, too.
class order_cache {
public:
  explicit order_cache(std::size_t shuffles) : used_(shuffles) {}

  /// The record at a position of the shuffle's order.
  std::uint64_t record(std::size_t shuffle, shared_orders& all, std::uint64_t epoch,
                       pass_number in_pass, std::uint64_t position) {
    const auto pass = pass_word(in_pass);
    auto& used = used_[shuffle];
    if (!used.order || used.order->epoch() != epoch || used.order->pass() != pass)
      used = {.order = all.get(epoch, pass)};
    if (position > used.last) {
      used.stride = position - used.last;
      used.last = position;
    }
    for (const auto& x : used.found)
      if (x.position == position)
        return x.record;
    return find(used, position);
  }

private:
  struct found_record {
    std::uint64_t position = UINT64_MAX;
    std::uint64_t record = 0;
  };
  struct used_order {
    std::shared_ptr<const epoch_order> order = {};
    /// The last ones: the row that is made, the one that is made next, and perhaps one after that.
    std::array<found_record, 4> found = {};
    std::size_t oldest = 0;
    /// The last position that was asked for, and how far from it the one before it was.
    std::uint64_t last = 0;
    std::uint64_t stride = 1;
  };

  /// Finds a record, and with it the one that is probably asked for next.
  static std::uint64_t find(used_order& used, std::uint64_t position) {
    const auto left = used.order->records() - 1 - position;
    const std::array positions{position, position + (used.stride <= left ? used.stride : 0)};
    const auto records = used.order->records_at(positions);
    for (std::size_t i = 0; i < positions.size(); ++i)
      used.found[used.oldest + i] = {positions[i], records[i]};
    used.oldest = (used.oldest + positions.size()) % used.found.size();
    return records[0];
  }

  std::vector<used_order> used_;
};

} // namespace leat
