#pragma once

#include "messages/chunk.hpp"
#include "runtime/base/threads/listener.hpp"
#include "runtime/lending/lent_rows.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace leat {

/// Deals lent rows to all workers here, slot by slot: each takes what is still there, so whoever is
/// free does it, and `taken` hears of it.
void deal_here(std::vector<row_place> rows, const std::shared_ptr<listener>& taken,
               const std::function<void(chunk)>& deal);

} // namespace leat
