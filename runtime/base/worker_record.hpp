#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leat {

/// What one worker did, and what it is doing now: written by the worker, read by anyone.
/// On cache lines of its own: a worker writes it for every row.
struct alignas(64) worker_record {
  /// Index among the workers; a replacement has its predecessor's.
  std::size_t number = 0;
  /// Never used twice in a loader.
  std::uint32_t id = 0;

  std::atomic<std::uint64_t> rows_dealt{0};
  std::atomic<std::uint64_t> rows_done{0};
  std::atomic<std::int64_t> busy_ns{0};
  std::atomic<std::uint64_t> bytes_read{0};

  // The row in progress: since when (steady clock, ns; 0: none), which item, in which stage
  // (sources come first, then maps: see sample_graph).
  std::atomic<std::int64_t> since_ns{0};
  std::atomic<std::uint64_t> epoch{0};
  std::atomic<std::uint64_t> item{0};
  std::atomic<std::size_t> stage{0};
};

inline std::int64_t steady_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Notes in a record that its thread works on an item, while this lives.
class busy_scope {
public:
  explicit busy_scope(worker_record& record) noexcept : record_(record) { begin_next(); }
  ~busy_scope() { record_.since_ns.store(0, std::memory_order_relaxed); }
  busy_scope(const busy_scope&) = delete;
  busy_scope& operator=(const busy_scope&) = delete;

  void begin_next() noexcept { record_.since_ns.store(steady_ns(), std::memory_order_relaxed); }

private:
  worker_record& record_;
};

} // namespace leat
