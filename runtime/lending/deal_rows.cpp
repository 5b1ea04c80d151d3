#include "runtime/lending/deal_rows.hpp"

#include <utility>

namespace leat {

void deal_here(std::vector<row_place> rows, const std::shared_ptr<listener>& taken,
               const std::function<void(chunk)>& deal) {
  while (!rows.empty()) {
    const auto slot = rows.front().slot;
    chunk work{.slot = slot,
               .ticket = rows.front().ticket,
               .limit = rows.front().limit,
               .is_batch = rows.front().is_batch,
               .are_lent = true,
               .taken = taken};
    for (const auto& x : rows)
      if (x.slot == slot)
        work.rows.push_back(x.row);
    std::erase_if(rows, [&](const row_place& x) { return x.slot == slot; });
    deal(std::move(work));
  }
}

} // namespace leat
