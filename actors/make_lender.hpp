#pragma once

#include "runtime/job/rank_job.hpp"
#include "runtime/lending/row_lender.hpp"

#include <leat/loader.hpp>
#include <leat/pipeline.hpp>

#include <memory>

namespace leat {

/// Listens for helpers where the options say so; null where they do not, and for a job whose rows
/// cannot be lent, which a notice says. `data` is the job's pipeline, whose fields are known.
/// Throws what row_lender throws, and `errc::invalid_argument` for an address that is not this
/// machine's.
std::shared_ptr<row_lender> make_lender(const pipeline& data, const rank_job& job,
                                        const loader_options& options);

helper_stats stats_of(const row_lender& x);

} // namespace leat
