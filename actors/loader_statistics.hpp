#pragma once

#include "actors/worker_crew.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/rows/job_metrics.hpp"

#include <leat/loader.hpp>

namespace leat {

/// A loader's counts for its users, all but `mixes`.
loader_stats stats_of(const job_metrics& metrics, const worker_crew& crew,
                      const sample_graph& samples);

} // namespace leat
