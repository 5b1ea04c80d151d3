#pragma once

#include "runtime/order/order.hpp"

#include <leat/order.hpp>

namespace leat {

/// The same for users, who know no items.
epoch_facts facts_of(const epoch_geometry& x);

} // namespace leat
