#pragma once

#include "runtime/order/sample_graph.hpp"
#include "runtime/rows/row_request.hpp"

#include <cstdint>
#include <string>

namespace leat {

/// Appends the id of a row's sample: for an indexed order that of the item that the row delivers,
/// otherwise that of the row's own item. `lanes` is L.
void append_id(const row_request& row, const epoch_item& delivered, const sample_graph& plan,
               std::uint64_t lanes, order_cache& orders, std::string& to);

} // namespace leat
