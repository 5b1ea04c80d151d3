#pragma once

#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/lent_job.hpp"
#include "runtime/rows/row_runner.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace leat {

/// Makes rows of lent jobs, one job after the other. One thread.
class borrowed_rows {
public:
  /// Gets ready for rows of this job. False if there is no room for that now: then it is not tried
  /// again for a while.
  bool prepare(const std::shared_ptr<const borrowed_job>& job);

  /// The row of the job as row_codec has it. Nothing if its rank has to make it: if something is
  /// missing here, if the row is too large, or if its sample is bad, since only the rank's finding
  /// counts.
  std::optional<std::string> made(const offered_row& x);

private:
  std::shared_ptr<const borrowed_job> of_;
  std::shared_ptr<records_at_hand> records_;
  std::shared_ptr<const job_plan> plan_;
  std::optional<row_runner> runner_;
  std::optional<batch_memory> memory_;
  /// For this one there was no room, and when that is worth another try.
  std::shared_ptr<const borrowed_job> failed_;
  std::int64_t next_try_ = 0;
};

} // namespace leat
