#pragma once

#include "tests/conformance/data.hpp"
#include "tests/support/job.hpp"

#include <leat/dispatch_policy.hpp>
#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat::test {

/// Where a lane stands, in numbers.
struct lane_place {
  std::uint64_t lane = 0;
  std::uint64_t epoch = 0;
  std::uint64_t pass = 0;
  std::uint64_t consumed = 0;

  friend bool operator==(const lane_place&, const lane_place&) = default;
};

/// A global batch, merged from all ranks.
struct trained_batch {
  job_step step;
  bool end_of_epoch = false;
  /// Rows that are invalid because their samples are bad.
  std::size_t bad_rows = 0;
  /// Lanes after the batch; empty at the end of an epoch and for indexed pipelines.
  std::vector<lane_place> lanes;
  /// The encoded snapshot "resume after this batch" of each rank.
  std::vector<std::string> parts;
};

/// What a job handed over, and how it ended.
struct training {
  std::vector<trained_batch> batches;
  std::optional<errc> failure;
};

/// The first row, state or end that is not as expected; empty if there is none.
std::string difference_of(const training& expected, const training& got);

/// A job that is to be broken off.
struct interrupted_plan {
  /// The pipeline, with its batch.
  std::string text;
  std::uint64_t epochs = 2;
  /// Global batches after which an endless job ends.
  std::uint64_t steps = UINT64_MAX;
};

/// One process of a job, from its start to its end. What is trained on must not depend on these
/// values.
struct leg {
  /// Most global batches to take.
  std::uint64_t steps = UINT64_MAX;
  std::uint64_t world_size = 1;
  std::size_t workers = 0;
  dispatch_policy dispatch = dispatch_policy::on_demand;
};

/// A job that is broken off and resumed: each leg has fresh objects, made from the text of the
/// pipeline, the encoded snapshots of the previous leg, and the journals of sources that exist
/// once.
class interrupted_job {
public:
  explicit interrupted_job(interrupted_plan plan);

  /// Throws `std::logic_error` if the state right after the restore is not what was restored.
  void run(const leg& x);
  /// Forgets what came after the first `batches` batches: the next leg resumes there.
  void go_back(std::size_t batches);
  /// Changes the number of epochs from now on.
  void set_epochs(std::uint64_t epochs) { plan_.epochs = epochs; }

  const training& trained() const noexcept { return trained_; }
  /// The encoded snapshot of each rank after the last leg.
  const std::vector<std::string>& parts() const noexcept { return parts_; }
  /// Makes the pipeline again, with its journal.
  pipeline open() const;

private:
  interrupted_plan plan_;
  std::optional<once_records> once_;
  training trained_;
  std::vector<std::string> parts_;
};

/// Runs the job without a break.
training train(const interrupted_plan& plan, const leg& how = {});

} // namespace leat::test
