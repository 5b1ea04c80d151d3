#include "runtime/rows/row_id.hpp"

namespace leat {

void append_id(const row_request& row, const epoch_item& delivered, const sample_plan& plan,
               std::uint64_t lanes, order_cache& orders, std::string& to) {
  if (plan.is_closed()) {
    plan.items->append_id({.item = delivered.item, .epoch = delivered.era}, orders, to);
    return;
  }
  item_reader reader{row.what};
  const auto& stage = row.edge ? *plan.edges[*row.edge].input : *plan.program;
  stage.append_id(reader, {row.position % lanes, lanes, row.when}, orders, to);
}

} // namespace leat
