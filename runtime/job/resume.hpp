#pragma once

#include "runtime/job/rank_job.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <string>
#include <vector>

namespace leat {

/// Resumes a job after a snapshot. `parts`: those of all ranks (`complete`), or some of them, which
/// restore the order and leave the sums partial. `allow`: names of accepted differences. If it
/// throws, the job stays where it stood. Throws `errc::bad_snapshot`, `errc::mismatch` and
/// `errc::io`.
void resume(rank_job& job, const std::vector<snapshot>& parts, bool complete,
            const std::vector<std::string>& allow);

/// Resumes from the newest complete set in a directory, or from the file of a whole job. False if
/// a directory has none: the job begins at its beginning. `allow_older`: takes an older set if the
/// newest has a torn file. Throws as `stored_snapshot`, too.
bool resume(rank_job& job, const std::string& path, const std::vector<std::string>& allow,
            bool allow_older);

/// Resumes from the complete set at this place of a directory. `own_part_alone`: from the rank's
/// part of it, whose sums begin where those of the other ranks do; the set is then one file of this
/// job's world. Throws as the others do, and `errc::not_found` if the set is not there any more.
void resume_at(rank_job& job, const std::string& directory, const job_position& place,
               bool own_part_alone, const std::vector<std::string>& allow);

/// Make the journals of the job's sources hold what a snapshot needs until it is let go: see
/// loader::keep and loader::let_go. Throw as `resume`.
void keep(const rank_job& job, const std::vector<snapshot>& parts);
void let_go(const rank_job& job, const std::vector<snapshot>& parts);

} // namespace leat
