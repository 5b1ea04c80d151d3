#pragma once

#include "runtime/rows/job_metrics.hpp"
#include "runtime/rows/worker_board.hpp"

#include <leat/loader.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// What a loader counted, for its users. `stages`: their names, those of sources first.
loader_stats stats_of(const job_metrics& metrics, const worker_board& board,
                      const std::vector<std::string>& stages, std::size_t num_sources,
                      std::uint64_t workers_replaced);

} // namespace leat
