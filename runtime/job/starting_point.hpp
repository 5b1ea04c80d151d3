#pragma once

#include "runtime/job/epoch_end_agreement.hpp"
#include "runtime/job/rank_job.hpp"

#include <cstdint>
#include <functional>

namespace leat {

/// Called before iterators run in the caller's thread: learns the batch's fields if they are not
/// known, and returns the records in which the iterators note what they do.
using prepare_caller = std::function<doing()>;

/// Begins a job at a batch as if all batches before it had been handed over, with sums of zero.
/// Takes constant time for indexed data; otherwise the epoch's batches before it are run through,
/// without making samples. Throws `errc::invalid_argument` for a step that the epoch does not have;
/// what the iterators throw; `errc::io`.
void seek(rank_job& job, const job_position& to, epoch_end_agreement& ends,
          const prepare_caller& prepare);

/// Throws if no epoch can have a step of this number.
void check_seek(const rank_job& job, const job_position& to);

/// Leaves out the next n batches, also past the ends of epochs, but not past the end of the job.
/// Throws as `seek`.
void skip_batches(rank_job& job, std::uint64_t n, epoch_end_agreement& ends,
                  const prepare_caller& prepare);

} // namespace leat
