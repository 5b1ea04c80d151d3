#include "tools/leat/bench/bare_loop.hpp"

#include "runtime/base/huge_buffer.hpp"
#include "runtime/base/mutex.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/source.hpp>

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace leat::command {

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
      ragged[i] = field.ragged ? &bytes[row * memory.size() + i] : nullptr;
    }
  }

  const batch_layout& layout;
  std::size_t rows, next = 0;
  std::vector<huge_buffer> memory;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::byte*> dense;
  std::vector<std::vector<std::byte>*> ragged;
};

/// One thread: takes the next row, reads its record, runs the maps, writes the row.
void work(const job_plan& plan, std::atomic<std::uint64_t>& next, std::uint64_t rows,
          std::size_t ring_rows) {
  row_ring ring{*plan.layout, ring_rows};
  auto maker = maker_of(plan, std::make_shared<worker_record>());
  const auto per_epoch = plan.shape.positions();
  sample x;
  row_target target{plan.layout.get(), ring.dense, ring.ragged};
  for (auto row = next++; row < rows; row = next++) {
    ring.advance();
    const auto position = row % per_epoch;
    sample_access::reset(x, &target);
    maker.make({.item = position, .epoch = row / per_epoch}, position, x);
    sample_access::deliver(x);
  }
}

} // namespace

std::chrono::nanoseconds bare_loop(const pipeline& job, std::uint64_t rows, std::size_t threads) {
  auto plan = plan_job(job);
  if (!plan.shape.has_length())
    throw error(errc::invalid_argument, {.stage = "bare loop",
                                         .got = "a pipeline that is ordered by iterators",
                                         .needed = "indexed data, and operators without state"});
  std::atomic<std::uint64_t> next{0};
  mutex failing;
  std::exception_ptr problem;
  auto ring_rows = 1 + 3 * plan.shape.batch_rows / threads;
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&] {
      try {
        work(plan, next, rows, ring_rows);
      } catch (...) {
        mutex_lock lock{failing};
        problem = std::current_exception();
      }
    });
  for (auto& thread : running)
    thread.join();
  if (problem)
    std::rethrow_exception(problem);
  return std::chrono::steady_clock::now() - start;
}

} // namespace leat::command
