#pragma once

#include "runtime/base/huge_buffer.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/device/device_calls.hpp"
#include "runtime/device/device_memory.hpp"
#include "runtime/device/pinned_memory.hpp"
#include "runtime/device/stream_uses.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace leat {

/// Who may use a device's memory for one batch. docs/architecture.md has the table of states.
enum class device_phase : std::uint8_t {
  /// Nobody.
  free,
  /// Copies to it are in the copy stream.
  in_flight,
  /// They were seen to be done.
  ready,
  /// The trainer, in the streams that it names.
  leased,
  /// Work in these streams, which the next copies wait for.
  fenced,
};

/// Whether it may go from one phase to another.
constexpr bool may_follow(device_phase from, device_phase to) noexcept {
  switch (to) {
  case device_phase::in_flight:
    return from == device_phase::free || from == device_phase::fenced;
  case device_phase::ready:
    return from == device_phase::in_flight;
  case device_phase::leased:
    return from == device_phase::in_flight || from == device_phase::ready;
  case device_phase::fenced:
    return from == device_phase::leased;
  case device_phase::free: // handed over to nobody: later copies come after its own
    return from == device_phase::in_flight || from == device_phase::ready;
  }
  return false;
}

/// What of a batch goes to a device.
struct device_field_plan {
  /// Of all rows; 0 for a ragged field, and for one that stays on the host.
  std::size_t dense_bytes = 0;
  bool is_ragged = false;
};

/// Memory of one batch on a device, made once and used for many, with the marks that say when it
/// may be read and when it may be written again: copies wait, in their stream, for all streams in
/// which the batch before was used; streams that use the batch wait for its copies. The host waits
/// for neither.
class device_slot : not_copied {
public:
  /// By field of the batch's layout. Throws `errc::no_resources`.
  device_slot(std::shared_ptr<device_calls> calls, std::shared_ptr<pinned_memory> host,
              const std::vector<device_field_plan>& fields);
  /// Waits until the device does not use it any more.
  ~device_slot();

  device_phase phase() const noexcept;
  const device_calls& calls() const noexcept { return *calls_; }

  // The thread that copies:
  /// The next copies wait for what the batch before was used in.
  void begin(device_stream copies);
  /// Rows of a dense field, from its byte `at` on, which must stay as they are until is_copied().
  void copy(std::size_t field, std::span<const std::byte> from, std::size_t at = 0);
  /// All rows of a dense field that lies on the device already; likewise.
  void copy_within(std::size_t field, std::span<const std::byte> from);
  /// A ragged field, which is copied before this returns. Throws `errc::no_resources` where it is
  /// longer than ever before.
  void copy(std::size_t field, std::span<const std::byte> values,
            std::span<const std::uint64_t> offsets);
  /// All copies of the batch are in the stream.
  void end();
  /// It is not handed over to anybody, perhaps since not all copies could be given.
  void drop();

  // Any thread, from end() on:
  /// Whether nothing is left to be read from the host.
  bool is_copied();
  /// The calling thread sleeps until then.
  void wait_until_copied() { calls_->wait_here(copied_); }

  /// The trainer uses it from now on. True if its copies are done.
  bool lend();
  // Any thread, while it is lent:
  /// Whether the field is there.
  bool has(std::size_t field) const noexcept { return places_[field].is_there; }
  const std::byte* data(std::size_t field) const noexcept { return places_[field].at; }
  /// Of a ragged field, [rows + 1].
  const std::uint64_t* offsets(std::size_t field) const noexcept {
    return reinterpret_cast<const std::uint64_t*>(places_[field].ragged.data());
  }
  /// `stream` waits for the copies, and is one in which the batch is used.
  void make_wait(device_stream stream);
  /// The batch is used in this stream, too; none: in streams that nobody names.
  void used_on(std::optional<device_stream> stream);
  /// The trainer gives it no more work.
  void fence() noexcept;
  /// Whether the next copies would wait for nothing.
  bool is_idle();

private:
  struct place {
    bool is_there = false;
    /// Rows of a dense field, in `dense_`; values of a ragged one.
    std::byte* at = nullptr;
    /// Offsets and values of a ragged field, and what they are copied from.
    device_memory ragged = {};
    huge_buffer staged = {};

    void grow(std::size_t bytes, const std::shared_ptr<device_calls>& calls,
              const std::shared_ptr<pinned_memory>& host);
  };

  const std::shared_ptr<device_calls> calls_;
  const std::shared_ptr<pinned_memory> host_;
  device_memory dense_;
  std::vector<place> places_;
  device_stream copies_ = {};
  device_event copied_ = {};
  /// end() has put the mark after all copies.
  bool is_marked_ = true;

  mutable mutex mutex_;
  device_phase phase_ LEAT_GUARDED_BY(mutex_) = device_phase::free;
  stream_uses uses_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
