#pragma once

#include "actors/batch_engine.hpp"
#include "actors/device/copied_slots.hpp"
#include "actors/finished_slots.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/device/device_ring.hpp"
#include "runtime/device/pinned_memory.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leat {

/// What goes to a device of a batch of so many rows: the fields with these names, or all numeric
/// ones if there are none. Throws `errc::invalid_argument` for a field that there is not, or that
/// cannot go.
std::vector<device_field_plan> plan_device_fields(const batch_layout& layout, std::size_t rows,
                                                  const std::vector<std::string>& names);

/// A device, and what batches need on it.
struct device_parts {
  std::shared_ptr<device_calls> calls;
  /// Where the other engine has the memory of its batches from.
  std::shared_ptr<pinned_memory> host;
  std::vector<device_field_plan> fields;
  /// Leases that the trainer may hold.
  std::size_t leases = 0;
};

/// A stream of the device that ends with it.
class copy_stream {
public:
  explicit copy_stream(std::shared_ptr<device_calls> calls)
      : calls_(std::move(calls)), stream_(calls_->make_stream()) {}
  ~copy_stream() { calls_->end_stream(stream_); }
  copy_stream(const copy_stream&) = delete;
  copy_stream& operator=(const copy_stream&) = delete;

  device_stream get() const noexcept { return stream_; }

private:
  const std::shared_ptr<device_calls> calls_;
  const device_stream stream_;
};

/// Copies the batches of another engine to a device, ahead of their use: with workers in a thread
/// of its own, which alone uses the other engine's next() and make_room(), else in the trainer's.
///
/// A batch that is handed over has two memories: the host's slot, which goes back to the other
/// engine once the lease has ended and its copies are done, and the device's, which goes back to
/// the ring with the lease. The host waits for a device only where host memory is still being
/// copied from though its batch is over, for as many batches as there are on the device.
class device_engine final : public batch_engine {
public:
  device_engine(std::shared_ptr<batch_engine> makes, device_parts parts,
                std::shared_ptr<const job_plan> plan, std::shared_ptr<job_metrics> metrics,
                bool has_workers);
  ~device_engine() override;

  void make_room(std::size_t) override {}
  slot_ptr next() override;
  void recycle(slot_ptr slot) override;
  void begin_epoch(std::uint64_t epoch) override { makes_->begin_epoch(epoch); }
  void rewind(std::uint64_t run) override;
  void resize(std::size_t workers) override { makes_->resize(workers); }
  void interrupt() noexcept override;
  bool shutdown() noexcept override;

private:
  void copy_ahead();
  std::size_t num_device_slots() const noexcept;
  void make_device_slots();
  /// The other engine's next slot, with its copies under way; null once it was interrupted.
  slot_ptr next_copied();
  void copy(batch_slot& from, device_slot& to);
  /// Returns how many bytes are copied from the host.
  static std::size_t copy_dense(const batch_slot& from, std::size_t field, device_slot& to);
  slot_ptr wait_for_next();
  /// Waits until the trainer is done with a slot that is no batch.
  void wait_until_judged(const slot_ptr& word);
  void wait_for_copies() noexcept;

  /// First: ends after all slots, which may record marks in it until they end.
  const copy_stream copies_;
  const std::shared_ptr<batch_engine> makes_;
  const device_parts parts_;
  const std::shared_ptr<const job_plan> plan_;
  const std::shared_ptr<job_metrics> metrics_;
  const bool has_copier_;
  device_ring ring_{{}};
  finished_slots ready_;
  copied_slots slots_;

  mutex mutex_;
  condition_variable judged_;
  /// The job's end, or a failure, that the trainer has not given back.
  slot_ptr word_ LEAT_GUARDED_BY(mutex_);
  bool is_interrupted_ LEAT_GUARDED_BY(mutex_) = false;

  mutex shutdown_mutex_;
  /// Last: uses all others.
  joined_threads copier_;
};

} // namespace leat
