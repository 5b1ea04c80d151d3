#pragma once

#include "runtime/job/rank_job.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <string>
#include <vector>

namespace leat {

/// Lets a job go on after a snapshot. `parts`: those of all ranks (`complete`), or some of them,
/// which restore the order and leave the sums partial. `allow`: names of accepted differences. A
/// resume that throws leaves the job where it stood. Throws `errc::bad_snapshot`, `errc::mismatch`
/// and `errc::io`.
void resume(rank_job& job, const std::vector<snapshot>& parts, bool complete,
            const std::vector<std::string>& allow);

/// The same from the newest complete set in a directory. False without one: the job begins at its
/// beginning. `allow_older`: takes an older set where the newest has a torn file.
bool resume(rank_job& job, const std::string& directory, const std::vector<std::string>& allow,
            bool allow_older);

/// The journals of the job's sources hold what a snapshot needs until it is let go: see
/// loader::keep and loader::let_go. Throw as `resume`.
void keep(const rank_job& job, const std::vector<snapshot>& parts);
void let_go(const rank_job& job, const std::vector<snapshot>& parts);

} // namespace leat
