#include "runtime/rows/row_id.hpp"

namespace leat {

void append_id(const row_request& row, const epoch_item& delivered, const sample_graph& plan,
               std::uint64_t lanes, order_cache& orders, std::string& to) {
  if (plan.is_indexed()) {
    plan.items->append_id({.item = delivered.item, .epoch = delivered.epoch}, orders, to);
    return;
  }
  item_reader reader{row.what};
  const auto& form = row.edge ? *plan.edges[*row.edge].input : *plan.iterator;
  form.append_id(reader, {row.position % lanes, lanes, row.when}, orders, to);
}

} // namespace leat
