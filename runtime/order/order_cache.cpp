#include "runtime/order/order_cache.hpp"

namespace leat {

std::shared_ptr<const epoch_order> shared_orders::get(std::uint64_t epoch, std::uint64_t pass) {
  constexpr std::size_t kept = 8;
  const mutex_lock lock{mutex_};
  for (const auto& x : used_)
    if (x->epoch() == epoch && x->pass() == pass)
      return x;
  if (used_.size() == kept)
    used_.pop_front();
  return used_.emplace_back(std::make_shared<const epoch_order>(config_, epoch, pass));
}

} // namespace leat
