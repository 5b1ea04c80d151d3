#pragma once

#include "actors/lease_desk.hpp"
#include "runtime/job/rank_job.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/loader.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace leat {

inline constexpr std::size_t most_workers = 4096;

/// Throws `errc::invalid_argument` for options that are invalid for any loader.
void check_options(const loader_options& x);

/// Throws `errc::invalid_argument` for options that are invalid for a loader of this pipeline.
/// `limit`: see `lane_limit`.
void check_options(const loader_options& x, const job_plan& plan,
                   const std::optional<std::string>& limit);

/// Throws `errc::leases_exhausted` where no more may be held beside these.
void check_leases(const loader_options& x, std::size_t leases);

/// Throws `errc::invalid_argument` for a new number of workers that a loader cannot have.
void check_resize(const loader_options& x, std::size_t workers);

/// "step 7 of rank 0 of 2 of count.batch"
std::string text_of_batch(const lease_desk& desk, const job_progress& after);

/// Throws `errc::invalid_argument` for a batch that is not one of `mine`'s. `desk`: the batch's.
/// `has_terms`: the ranks of the job may start over.
[[noreturn]] void refuse_batch(const std::string& stage, const lease_desk& desk,
                               const job_progress& after, const rank_job& mine, bool has_terms);

/// Throws `errc::invalid_argument` in the child of a process that has had loaders: locks that its
/// parent's threads held at the fork stay locked there.
void check_process();

/// Throws what every call of a loader throws in the child of a fork.
[[noreturn]] void refuse_child();

} // namespace leat
