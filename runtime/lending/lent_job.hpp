#pragma once

#include "runtime/lending/sent_records.hpp"
#include "runtime/pipeline/lendable.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/sample/batch_layout.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/bad_sample.hpp>
#include <leat/pipeline.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// All that another process has to know to make rows of a job: its pipeline as a value, with the
/// facts of its data, and what rows depend on besides.
struct lent_job {
  /// An encoded snapshot of the job's beginning, with the fields of its batches.
  std::string beginning = {};
  bad_sample_policy bad_samples = bad_sample_policy::fail;
  bool hash_pixels = false;
  /// Positions at which a drill's function throws.
  std::vector<std::uint64_t> throw_at = {};
  /// Maps that run in child processes, by their places among all maps.
  std::vector<std::uint64_t> isolated = {};
  /// Records are sent to all helpers, also to those that have the data.
  bool sends_records = false;
  /// A hash of its sources' files, see content_sample: what the digest does not tell apart.
  hash128 content = {};
  /// Of all sources, in data order; empty if records cannot be sent.
  std::vector<source_shape> sources = {};
};

/// `plan`: that of the pipeline, with its fields. Opens the data.
lent_job lent_job_of(const pipeline& x, const pipeline_facts& facts, const job_plan& plan);

std::string encode(const lent_job& x);
/// Nothing if the bytes are not one.
std::optional<lent_job> decode_lent_job(std::string_view bytes);

/// A lent job where its rows are made. Any thread.
class borrowed_job {
public:
  /// Makes the pipeline again of leat's own functions and the program's, and looks whether it is
  /// the same one. Files are opened only below `folders`, with all links followed, and read only if
  /// they hold what the job's do.
  /// Throws `leat::error`: what is unknown here, or differs.
  borrowed_job(lent_job x, const std::vector<std::string>& folders);

  /// Records are read here, and need not be sent.
  bool has_data() const noexcept { return own_plan_ != nullptr; }
  /// A plan for one thread, whose rows are made of the records at hand, unless has_data().
  std::shared_ptr<const job_plan> plan_for(std::shared_ptr<records_at_hand> records) const;

private:
  std::shared_ptr<const job_plan> plan_of(const pipeline& x) const;
  void check_same(const pipeline& x) const;
  bool finds_data(const std::vector<std::string>& folders) const;

  lent_job job_;
  snapshot beginning_;
  std::optional<pipeline> pipeline_;
  std::shared_ptr<const job_plan> own_plan_;
};

} // namespace leat
