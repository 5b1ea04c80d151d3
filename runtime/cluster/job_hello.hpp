#pragma once

#include "messages/cluster/hello.hpp"
#include "runtime/job/rank_job.hpp"

namespace leat {

/// What a process that wants to run this job says of itself and of the job, whichever rank it is:
/// all but token, job, rank and rules. 128 bits, drawn at random, tell it from all other processes.
cluster_hello hello_for(const rank_job& job);

} // namespace leat
