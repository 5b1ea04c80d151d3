#pragma once

#include "runtime/job/agreement.hpp"
#include "runtime/job/rank_job.hpp"

#include <cstdint>
#include <functional>

namespace leat {

/// Called before iterators run in the caller's thread: learns the batch's fields where they are not
/// known, and says whom the iterators shall tell what they do.
using prepare_caller = std::function<doing()>;

/// Begins a job at a batch as if all before it had been handed over, with sums of zero. Indexed
/// data take constant time; elsewhere the epoch's batches before it are run through, without making
/// samples. Throws `errc::invalid_argument` for a step
/// that the epoch does not have, and what the iterators throw; `errc::io`.
void seek(rank_job& job, const job_position& to, agreement& ends, const prepare_caller& prepare);

/// Throws where no step of this number can be in the epoch.
void check_seek(const rank_job& job, const job_position& to);

/// Leaves out the next n batches, also past the ends of epochs, but not past the end of the job.
/// Otherwise as `seek`.
void skip_batches(rank_job& job, std::uint64_t n, agreement& ends, const prepare_caller& prepare);

} // namespace leat
