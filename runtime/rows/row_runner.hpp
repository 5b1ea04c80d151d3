#pragma once

#include "runtime/base/worker_record.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/row_request.hpp"
#include "runtime/rows/row_result.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/sample.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace leat {

/// A worker's own copy of a pipeline's function: reads, runs the maps, writes a row. Pure, one row
/// per request; no exception of a source or a user function leaves it.
class row_runner {
public:
  /// `record` is told what is being done.
  row_runner(std::shared_ptr<const job_plan> plan, std::shared_ptr<worker_record> record);

  /// Makes the requested row, with its digest, in the target; a bad sample is treated as the policy
  /// says. A probe needs no target. `result` must be clear.
  void run(const row_request& row, const row_target& target, row_result& result);

  worker_record& record() noexcept { return *record_; }
  /// The job asks functions to end.
  const std::atomic<bool>& cancelled() const noexcept { return *plan_->cancelled; }

private:
  error with_sample(const error& problem, const row_request& row, const row_result& result);
  void run_or_treat(const row_request& row, const row_target& target, row_result& result);
  /// Probes the row's item for an iterator.
  void probe(const row_request& row, row_result& result);
  void probe_item(const row_request& row, sighting& seen);
  /// Makes the row's own sample, or that of a substitute. Throws `bad_sample`, or the store's
  /// `leat::error`.
  void produce(const row_request& row, const row_target& target, row_result& result,
               const epoch_item& what);
  item_place place_of(const row_request& row) const;
  /// Tries other samples of the row's lane. False if none of them is good.
  bool substitute(const row_request& row, const row_target& target, row_result& result);
  void treat_bad(const row_request& row, const row_target& target, row_result& result,
                 const bad_sample& problem);
  void seal(const row_request& row, const row_target& target, row_result& result);
  /// Appends the id of the item that the row delivers.
  void append_id_of(const row_request& row, const row_result& result, std::string& to);
  hash128 hash_of_pixels(const row_request& row, const row_target& target) const;
  const std::string& stage_name() const;

  std::shared_ptr<const job_plan> plan_;
  std::shared_ptr<worker_record> record_;
  /// Made at the first row, in the thread that uses it.
  std::optional<sample_maker> maker_;
  sample sample_;
  std::string id_;
};

} // namespace leat
