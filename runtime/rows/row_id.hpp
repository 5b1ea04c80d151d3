#pragma once

#include "runtime/order/sample_plan.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace leat {

/// Appends the id of a row's sample: of a closed pipeline what the row delivers, else its item.
/// `lanes` is L.
void append_id(const batch_slot& slot, std::size_t row, const sample_plan& plan,
               std::uint64_t lanes, order_cache& orders, std::string& to);

} // namespace leat
