#pragma once

#include "runtime/order/indexed_form.hpp"
#include "runtime/order/order.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <leat/bad_sample.hpp>
#include <leat/pipeline.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

namespace leat {

class call_record;
struct epoch_facts;
struct iterator_start;

/// Everything that the rows of a job have in common: what to read, what to do with it, and how its
/// random numbers are keyed. Immutable, shared by all workers.
struct job_plan {
  std::shared_ptr<const sample_graph> samples;
  epoch_geometry shape;
  /// Null for pipelines with a once source until it is learned: see `layout_after`.
  std::shared_ptr<const batch_layout> layout;
  /// Names of the batch's fields; empty: all.
  std::vector<std::string> fields;
  bad_sample_policy bad_samples = bad_sample_policy::fail;
  bool hash_pixels = false;
  /// For fault drills: the function throws at these positions.
  std::vector<std::uint64_t> throw_at;
  /// Set when the loader is being destroyed.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  /// Requested at the same time: ends all waits for a store.
  std::stop_source stop = {};
};

/// The samples of a pipeline, and how they become batches.
struct epoch_plan {
  epoch_geometry shape;
  std::shared_ptr<const sample_graph> samples;
};

/// Opens the data. Throws `errc::invalid_argument` if the pipeline has no batch.
epoch_plan plan_epochs(const pipeline& x);
epoch_geometry shape_of(const pipeline& x);

/// Throws `errc::empty_epoch` if an epoch of the pipeline has no batch.
void check_not_empty(const epoch_geometry& x, const pipeline& of);

/// Checks the pipeline and learns the batch's layout by making one sample of epoch 0: item 0, or
/// the next good one. Throws `leat::error`.
job_plan plan_job(const pipeline& x);

/// What one thread is doing, for others to see; empty if nobody looks.
struct doing {
  std::shared_ptr<worker_record> rows = {};
  std::shared_ptr<call_record> iterators = {};
};

/// The two steps of `plan_job`: a plan without a layout, and the layout; null if there is a once
/// source.
job_plan plan_without_layout(const pipeline& x);
std::shared_ptr<const batch_layout> learn_layout(const job_plan& plan, const doing& told = {});

/// The layout of a pipeline with a once source, learned from the first good sample of all lanes
/// after `start`, in the order of positions, so that every rank finds the same one. A job learns it
/// at its beginning and keeps it in its snapshots: those samples may be gone later. Empty if there
/// is no such sample. Blocks for the source, no longer than the job's first batch would.
std::shared_ptr<const batch_layout> layout_after(const job_plan& plan, iterator_start start,
                                                 const doing& told = {});

/// What one thread needs to make the plan's samples.
sample_maker maker_of(const job_plan& plan, std::shared_ptr<worker_record> record);

/// The shape of epochs for users, who know no items.
epoch_facts facts_of(const epoch_geometry& x);

} // namespace leat
