#pragma once

#include "messages/cluster/hello.hpp"
#include "runtime/job/rank_job.hpp"

namespace leat {

/// What a process that would run this job says of itself and of the job, whichever rank it is: all
/// but token, job, rank and rules. With 128 bits drawn at random, which no other process has.
cluster_hello hello_for(const rank_job& job);

} // namespace leat
