#pragma once

#include "runtime/call_record.hpp"
#include "runtime/row_plan.hpp"
#include "runtime/worker_record.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <string>

namespace leat {

/// `errc::stuck` for the row that a record's thread is making; `where` says which thread that is:
/// "on worker 3".
error stuck_row(const row_plan& plan, const worker_record& record, const std::string& where,
                std::chrono::milliseconds limit);

/// The same for a call of the programs.
error stuck_call(const call_record::call& x, const std::string& where,
                 std::chrono::milliseconds limit);

} // namespace leat
