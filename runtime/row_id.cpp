#include "runtime/row_id.hpp"

namespace leat {

void append_id(const slot_row& row, const sample_plan& plan, std::uint64_t lanes,
               order_cache& orders, std::string& to) {
  if (plan.is_closed()) {
    plan.items->append_id({.item = row.delivered.item, .epoch = row.delivered.era}, orders, to);
    return;
  }
  item_reader reader{row.what};
  const auto& stage = row.probe.round ? *plan.edges[*row.probe.round->edge()].input : *plan.program;
  stage.append_id(reader, {row.position % lanes, lanes, row.when}, orders, to);
}

} // namespace leat
