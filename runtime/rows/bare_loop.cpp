#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/huge_buffer.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/bare_loop.hpp>

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leat {

namespace {

/// Output memory of one thread, written round and round: the same memory as a loader's batches.
struct row_ring {
  row_ring(const batch_layout& fields, std::size_t size)
      : layout(fields), rows(size), bytes(size * fields.fields().size()),
        dense(fields.fields().size()), ragged(fields.fields().size()) {
    for (const auto& field : layout.fields())
      memory.emplace_back(field.row_bytes() * rows);
  }

  /// Aims at the next row.
  void advance() {
    auto row = next++ % rows;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const auto& field = layout.fields()[i];
      dense[i] = field.ragged ? nullptr : memory[i].data() + row * field.row_bytes();
      ragged[i] = {.in = field.ragged ? &bytes[row * memory.size() + i] : nullptr};
    }
  }

  const batch_layout& layout;
  std::size_t rows, next = 0;
  std::vector<huge_buffer> memory;
  std::vector<ragged_buffer> bytes;
  std::vector<std::byte*> dense;
  std::vector<ragged_row> ragged;
};

constexpr std::size_t max_threads = 4096;

/// A bad sample as an error, with its id.
error error_of(const bad_sample& problem, const job_plan& plan, sample_maker& maker,
               const place& at) {
  std::string id;
  plan.samples->items->append_id(at, maker.orders(), id);
  return {errc::bad_sample,
          {.stage = "bare_loop",
           .sample = id,
           .got = problem.what(),
           .needed = "good samples: only a loader has policies for bad ones"}};
}

/// One thread's work: takes the next row, reads its record, runs the maps, writes the row.
void make_rows(const job_plan& plan, std::atomic<std::uint64_t>& next, std::uint64_t rows,
               std::size_t ring_rows) {
  row_ring ring{*plan.layout, ring_rows};
  auto maker = maker_of(plan, std::make_shared<worker_record>());
  const auto per_epoch = plan.shape.positions();
  sample x;
  row_target target{plan.layout.get(), ring.dense, ring.ragged};
  for (auto row = next++; row < rows; row = next++) {
    ring.advance();
    const place at{.item = row % per_epoch, .epoch = row / per_epoch};
    sample_access::reset(x, &target);
    try {
      maker.make(at, at.item, x);
      sample_access::deliver(x);
    } catch (const bad_sample& problem) {
      throw error_of(problem, plan, maker, at);
    }
  }
}

} // namespace

bare_loop::bare_loop(const pipeline& job, std::size_t threads) : threads_(threads) {
  if (threads < 1 || threads > max_threads)
    refuse_argument("bare_loop", std::to_string(threads) + " threads",
                    "1 to " + std::to_string(max_threads));
  auto plan = plan_without_layout(job);
  if (!plan.shape.has_length())
    refuse_argument("bare_loop", "a pipeline that is ordered by iterators",
                    "indexed data, and operators without state");
  plan.layout = learn_layout(plan);
  plan_ = std::make_shared<const job_plan>(std::move(plan));
}

std::uint64_t bare_loop::batch_rows() const noexcept {
  return plan_->shape.batch_rows;
}

std::uint64_t bare_loop::epoch_rows() const noexcept {
  return plan_->shape.positions();
}

std::chrono::nanoseconds bare_loop::run(std::uint64_t rows) const {
  std::atomic<std::uint64_t> next{0};
  mutex failing;
  std::exception_ptr problem;
  const auto fail = [&] {
    mutex_lock lock{failing};
    problem = std::current_exception();
    next = rows; // the other threads end after their rows
  };
  const auto ring_rows = 1 + 3 * plan_->shape.batch_rows / threads_;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  try {
    for (std::size_t i = 0; i < threads_; ++i)
      running.push_back(begin_thread("bare_loop", [&] {
        try {
          make_rows(*plan_, next, rows, ring_rows);
        } catch (...) {
          fail();
        }
      }));
  } catch (...) {
    fail();
  }
  for (auto& thread : running)
    thread.join();
  const auto took = std::chrono::steady_clock::now() - start;
  if (problem)
    std::rethrow_exception(problem);
  return took;
}

} // namespace leat
