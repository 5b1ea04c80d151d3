#pragma once

#include "actors/cluster/cluster_rank.hpp"
#include "runtime/job/rank_job.hpp"

#include <leat/loader.hpp>

namespace leat {

/// Takes rank and world size from the cluster's options, and checks these. Throws
/// `errc::invalid_argument`.
void set_ranks(loader_options& x);

/// How a rank of this job takes part in its cluster.
cluster_rank_config config_for(const loader_options& x, const rank_job& job);

} // namespace leat
