#pragma once

#include "tests/conformance/data.hpp"

#include <leat/error.hpp>
#include <leat/hash128.hpp>
#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat::test {

/// A job whose snapshots are forged: what it hands over, and a snapshot after each batch.
class forged_job {
public:
  /// `text`: the pipeline, with its batch. Runs at most `steps` batches.
  forged_job(const std::string& text, std::size_t steps);

  const std::vector<std::string>& snapshots() const noexcept { return snapshots_; }

  /// The outcome of a job that was restored from these bytes.
  struct outcome {
    /// The error with which it ended.
    std::optional<error> problem = {};
    std::size_t batches = 0;
    /// Number of batches that differed from those of the job itself at that place.
    std::size_t others = 0;
  };
  /// Restores, and hands over a few batches in this thread. `number`: that of the snapshot from
  /// which the bytes were made.
  outcome run(const std::string& bytes, std::size_t number) const;

private:
  pipeline open() const;

  std::string text_;
  std::optional<once_records> once_;
  std::optional<pipeline> data_;
  std::uint64_t epochs_ = 1;
  std::vector<std::string> snapshots_;
  /// Digest of each batch's ids and content.
  std::vector<hash128> digests_;
};

} // namespace leat::test
