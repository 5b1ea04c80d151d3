#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace leat {

struct job_plan;

/// The rows of a pipeline without a loader: on each thread a loop takes the next row, reads its
/// record, runs the maps, and writes the row to memory that it uses over and over. There are no
/// batches, no leases, and rows are done in no order. What this machine can do at best: a loader is
/// measured against it, and so are two versions of a map.
///
///     leat::bare_loop loop{job, 8};
///     loop.run(10'000);                              // warms up
///     auto rows_per_second = 10'000 / std::chrono::duration<double>(loop.run(10'000)).count();
class LEAT_API bare_loop {
public:
  /// Opens the data, and makes a sample to learn the fields of a row. Throws what a loader's
  /// constructor throws; `errc::invalid_argument` for no threads or more than 4096, and for a
  /// pipeline that is ordered by iterators or has no end.
  explicit bare_loop(const pipeline& job, std::size_t threads = 1);

  /// Rows of a batch, over all ranks.
  std::uint64_t batch_rows() const noexcept;
  /// Rows of an epoch's batches.
  std::uint64_t epoch_rows() const noexcept;

  /// Makes rows 0 .. rows-1 of the job, epoch after epoch, with what a loader would put into them,
  /// and returns how long it took, starting the threads included. Throws what a map or the data
  /// throws, once all threads have ended; `errc::bad_sample` with the sample's id; and
  /// `errc::no_resources`. Any thread.
  std::chrono::nanoseconds run(std::uint64_t rows) const;

private:
  std::shared_ptr<const job_plan> plan_;
  std::size_t threads_;
};

} // namespace leat
