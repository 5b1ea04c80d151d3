#pragma once

#include "runtime/base/metrics.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/worker_record.hpp"
#include "runtime/order/input_counts.hpp"

#include <leat/bad_sample.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace leat {

class job_metrics;
class trace;
class trace_recorder;

/// Where the memory of a batch is: with nobody, in the making, finished, or with the trainer.
enum class slot_phase : std::uint8_t { free, making, ready, leased };
inline constexpr std::size_t num_slot_phases = 4;

/// A slot's state, as metrics count it. Used only by the owner of the slot.
class slot_life {
public:
  /// Called before anyone else has the slot. `metrics` must outlive the last turn().
  void count_in(job_metrics& metrics, std::size_t number) noexcept;
  /// Called when nobody else has the slot any more.
  void count_out() noexcept;
  /// The slot enters this phase, with the batch (`epoch`, `step`) that it has held since it began
  /// to be made. `is_batch`: false for the job's end and for failures, which no trace shows. Does
  /// nothing if the slot is not counted.
  void turn(slot_phase to, bool is_batch, std::uint64_t epoch, std::uint64_t step) noexcept;

private:
  job_metrics* metrics_ = nullptr;
  std::size_t number_ = 0;
  slot_phase phase_ = slot_phase::free;
  std::int64_t since_ns_ = 0;
};

/// What a loader counts about itself, and what it shows in a trace. Any thread may write and read.
class job_metrics : not_copied {
public:
  /// Shows everything that follows in a group of tracks with this name. Called before the job
  /// begins.
  void show_in(std::shared_ptr<trace> to, const std::string& name,
               const std::vector<std::string>& stages);
  /// How a worker's rows are shown; empty if there is no trace.
  row_tracing tracing_of(std::size_t worker);

  /// next() waited for a batch; then it got this one.
  void waited(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t epoch, std::uint64_t step);
  /// Rows were dealt, after iterators ran if there are no workers.
  void dealt(std::int64_t begin_ns, std::int64_t end_ns) noexcept;
  /// Copies of a batch to the device were given to its driver.
  void copied(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t epoch, std::uint64_t step,
              std::uint64_t bytes) noexcept;
  /// A snapshot was written.
  void saved(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t bytes);

  counter batches;
  counter samples;
  std::array<counter, num_causes> bad;
  /// Workers that there should be.
  counter workers;
  /// What was copied to the device.
  struct device_counters {
    counter bytes;
    counter batches;
    /// Batches that were handed over before their copies were done.
    counter waits;
    /// 1 if they were copied from pinned memory.
    counter pinned;
  } device;
  /// Size of the last snapshot.
  counter snapshot_bytes;
  /// How long next() waited, each time.
  histogram waits;
  /// How long each finished batch lay ready.
  histogram ages;
  std::array<counter, num_slot_phases> slots;

  /// What the inputs of mixes gave before a step, and the job's changes of weights.
  struct mixed {
    input_counts given = {};
    std::uint64_t step = 0;
    weight_phases changes = {};
  };
  mixed mixes() const;
  void set_mixes(const mixed& x);

private:
  friend class slot_life;

  void show_slot(std::size_t number, slot_phase was, std::int64_t begin_ns, std::int64_t end_ns,
                 std::uint64_t epoch, std::uint64_t step) noexcept;

  /// Tracks and names; made by show_in.
  struct timeline {
    trace_recorder* recorder = nullptr;
    std::uint32_t process = 0;
    trace_track* trainer = nullptr;
    trace_track* row_assignment = nullptr;
    trace_track* saves = nullptr;
    std::uint32_t wait = 0;
    std::uint32_t deal = 0;
    std::uint32_t save = 0;
    std::uint32_t copy = 0;
    std::array<std::uint32_t, num_slot_phases> phases = {};
    row_tracing rows = {};
  };

  std::shared_ptr<trace> trace_;
  timeline shown_;
  mutable mutex mixes_mutex_;
  mixed mixes_ LEAT_GUARDED_BY(mixes_mutex_);
};

} // namespace leat
