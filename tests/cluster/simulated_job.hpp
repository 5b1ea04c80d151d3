#pragma once

#include "runtime/job/rank_job.hpp"
#include "runtime/rows/inline_order.hpp"
#include "runtime/rows/row_runner.hpp"
#include "tests/support/standard.hpp"

#include <leat/hash128.hpp>
#include <leat/job_position.hpp>

namespace leat::test {

/// Positions of rows, each with the id of the sample that it delivers.
using row_ids = std::vector<std::pair<std::uint64_t, std::string>>;

/// A rank's batch without its rows' contents.
struct listed_batch {
  batch_plan plan;
  row_ids rows;
  /// The digest of all rows.
  hash128 digest;
};

/// Lists the batches of a rank, one after the other, through leat's own runtime.
class batch_list {
public:
  explicit batch_list(const rank_job& from);

  listed_batch next();
  void begin_epoch(std::uint64_t epoch) { order_.begin_epoch(epoch); }

private:
  std::shared_ptr<const job_plan> plan_;
  row_runner function_;
  inline_order order_;
  std::string id_;
};

/// Moves a job past a batch, with its sums.
void count_batch(rank_job& job, const listed_batch& x);

/// The choice of one of the pipelines, and how it is divided into batches.
struct job_choice {
  std::uint64_t pipeline = 0;
  std::uint64_t lanes = 4;
  std::uint64_t items_per_lane = 1;
  epoch_end end = epoch_end::drop;
  std::uint64_t epochs = 1;
  std::uint64_t size = 0;

  friend auto operator<=>(const job_choice&, const job_choice&) = default;
};

/// One global batch of a job, and the position of the next one.
struct reference_batch {
  row_ids rows;
  job_position next;
  hash128 digest_until_next;
  std::uint64_t samples_until_next = 0;
};

/// A training job, and what it gives on one rank without any cluster.
class simulated_job {
public:
  /// One of some hundred jobs, always the same for the same choice. None if it has an empty epoch
  /// or would take too long.
  static std::shared_ptr<const simulated_job> of(const job_choice& x);

  explicit simulated_job(const job_choice& x);

  rank_job job_of(std::uint64_t rank, std::uint64_t world_size) const;
  bool is_indexed() const { return first_.plan->shape.is_indexed; }
  bool needs_ends(std::uint64_t world_size) const;
  epoch_end end_rule() const { return first_.plan->shape.end; }
  std::uint64_t lanes() const { return first_.plan->shape.lanes; }
  /// The same for all processes of the job.
  const std::string& beginning() const { return beginning_; }

  const std::map<job_position, reference_batch>& batches() const { return batches_; }
  /// Where the job stands after its last batch.
  const job_position& end() const { return end_; }
  /// Where it stands one batch later, also at its end.
  job_position after(const job_position& x) const;
  std::uint64_t global_step_at(const job_position& x) const;

  /// What the ranks of a job with this world size, restored from parts, give in lock step.
  std::map<job_position, row_ids> rest_of(const std::vector<snapshot>& parts,
                                          std::uint64_t world_size) const;

private:
  rank_job first_;
  std::string beginning_;
  std::map<job_position, reference_batch> batches_;
  job_position end_;
};

inline constexpr std::uint64_t num_indexed_pipelines = 4;
inline constexpr std::uint64_t num_pipelines = 16;

} // namespace leat::test
