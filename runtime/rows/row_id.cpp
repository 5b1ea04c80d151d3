#include "runtime/rows/row_id.hpp"

namespace leat {

void append_id(const batch_slot& slot, std::size_t row, const sample_plan& plan,
               std::uint64_t lanes, order_cache& orders, std::string& to) {
  if (plan.is_closed()) {
    const auto& x = slot.rows[row].delivered;
    plan.items->append_id({.item = x.item, .epoch = x.era}, orders, to);
    return;
  }
  const auto& x = slot.items[row];
  item_reader reader{x.what};
  const auto& stage = x.probe.round ? *plan.edges[x.probe.edge].input : *plan.program;
  stage.append_id(reader, {slot.rows[row].position % lanes, lanes, x.when}, orders, to);
}

} // namespace leat
