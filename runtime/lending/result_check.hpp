#pragma once

#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/row_request.hpp"
#include "runtime/rows/row_result.hpp"

namespace leat {

/// Whether a result that another process has sent may be one of this row: what is done with it
/// later relies on that. A row that has failed is none.
bool may_be_result(const row_result& x, const row_request& of, const job_plan& plan);

} // namespace leat
