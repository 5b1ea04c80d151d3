#pragma once

#include "runtime/base/worker_record.hpp"
#include "runtime/order/iterators/kept_fields.hpp"
#include "runtime/order/iterators/made_samples.hpp"
#include "runtime/rows/batch_memory.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/row_request.hpp"
#include "runtime/rows/row_result.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/sample.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// A worker's own copy of a pipeline's function: reads, runs the maps, writes a row. Pure, one row
/// per request; no exception of a source or a user function leaves it. Large because rows are made
/// alone or together, and bad ones are treated.
class row_runner {
public:
  /// `record` shows what is being done.
  row_runner(std::shared_ptr<const job_plan> plan, std::shared_ptr<worker_record> record);

  /// What it keeps is used in the same thread.
  void stay_in_thread() noexcept { is_in_one_thread_ = true; }

  /// Makes the requested row, with its digest, in the target; a bad sample is treated as the policy
  /// says. A probe needs no target. `result` must be clear.
  void run(const row_request& row, const row_target& target, row_result& result);
  /// Hashes the content of a row that was not all there when it was run.
  void hash(const row_request& row, const batch_memory& memory, std::size_t number,
            row_result& result) const;
  /// A hint: this row is run after the one that is about to be run.
  void expect(const row_request& next) noexcept;
  /// A row that is to be made, as for run().
  struct work {
    const row_request* row = nullptr;
    row_target target;
    row_result* result = nullptr;
  };
  /// The last maps take several samples at once.
  bool takes_several() const noexcept {
    return plan_->samples->first_together < plan_->samples->maps.size();
  }
  /// As run() for each of them, in a way that makes use of that.
  void run_together(std::span<const work> rows);

  worker_record& record() noexcept { return *record_; }
  /// The job asks functions to end.
  const std::atomic<bool>& cancelled() const noexcept { return *plan_->cancelled; }
  /// A row has failed because a function was interrupted: all later ones are for nothing.
  bool was_interrupted() const noexcept { return was_interrupted_; }

private:
  void count_read(std::uint64_t bytes) noexcept;
  /// See indexed_form::locate; appends to `expected_`.
  stored_objects* locate(const row_request& row);
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
  void seal(const row_request& row, const row_target& target, row_result& result, const sample& x);
  bool fails_on_purpose(const row_request& row, const epoch_item& what) const;
  void make_item(const row_request& row, const epoch_item& what, sample& into);
  void take_given(row_result& result) noexcept { result.given.swap(maker_->given()); }
  /// Those whose samples could be begun; runs the others alone.
  void begin_together(std::span<const work> rows);
  void finish_together();
  /// Appends the id of the item that the row delivers.
  void append_id_of(const row_request& row, const row_result& result, std::string& to);
  template <class Bytes>
  hash128 hash_of_fields(std::uint64_t position, Bytes bytes_of) const;
  const std::string& stage_name() const;

  std::shared_ptr<const job_plan> plan_;
  std::shared_ptr<worker_record> record_;
  /// Made at the first row, in the thread that uses it.
  std::optional<sample_maker> maker_;
  sample sample_;
  bool is_in_one_thread_ = false;
  bool was_interrupted_ = false;
  /// That the last row read.
  std::uint64_t last_bytes_ = 0;
  /// Where the row that is run next lies.
  std::vector<extent> expected_;
  std::shared_ptr<made_samples> made_ = std::make_shared<made_samples>(most_samples_kept);
  kept_fields fields_;
  /// For rows that are made together: their samples, the first of which are those of `begun_`.
  std::vector<std::unique_ptr<sample>> samples_;
  std::vector<sample_maker::begun> begun_;
  std::vector<const work*> begun_rows_;
  std::string id_;
};

} // namespace leat
