#pragma once

#include "runtime/base/call_record.hpp"
#include "runtime/base/worker_record.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <string>

namespace leat {

/// The `errc::stuck` for the row that a record's thread is making; `where` says which thread that
/// is: "on worker 3".
error stuck_row(const job_plan& plan, const worker_record& record, const std::string& where,
                std::chrono::milliseconds limit);

/// The `errc::stuck` for a call of the iterators.
error stuck_call(const call_record::call& x, const std::string& where,
                 std::chrono::milliseconds limit);

} // namespace leat
