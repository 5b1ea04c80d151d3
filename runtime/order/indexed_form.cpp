#include "runtime/order/indexed_form.hpp"

#include "runtime/order/sample_maker.hpp"
#include "runtime/sample/sample_access.hpp"

namespace leat {

std::uint64_t indexed_over::make(const place& at, sample& into, sample_maker& with) const {
  return input_->make(source_of(at, with.orders()), into, with);
}

void identify(sample& x, const indexed_form& from, const place& at, order_cache& orders) {
  sample_access::identify(
      x, [&from, at, &orders](std::string& to) { from.append_id(at, orders, to); });
}

} // namespace leat
