#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/lending/waiting_frames.hpp"
#include "runtime/network/links/bulk_connection.hpp"

#include <cstdint>
#include <utility>

namespace leat {

/// What is sent to a peer, by any thread, as long as there is a connection; it outlives that.
class link_out : not_copied {
public:
  /// The connection is there from now on, until `close`.
  void open(bulk_connection& by) {
    const mutex_lock lock{mutex_};
    wire_ = &by;
  }
  void close() noexcept {
    const mutex_lock lock{mutex_};
    wire_ = nullptr;
  }

  void send(bulk_frame x) {
    const mutex_lock lock{mutex_};
    if (wire_)
      waiting_.send(*wire_, std::move(x));
  }
  /// The connection takes more.
  void flush() {
    const mutex_lock lock{mutex_};
    if (wire_)
      waiting_.flush(*wire_);
  }
  /// Nothing waits to be sent.
  bool is_empty() const {
    const mutex_lock lock{mutex_};
    return waiting_.is_empty();
  }
  void grant(std::int64_t bytes) {
    const mutex_lock lock{mutex_};
    if (wire_)
      wire_->grant(bytes);
  }
  /// Nothing that comes by it counts any more.
  void cut() noexcept {
    const mutex_lock lock{mutex_};
    is_cut_ = true;
    if (wire_)
      wire_->cut();
  }
  bool is_cut() const noexcept {
    const mutex_lock lock{mutex_};
    return is_cut_;
  }

private:
  mutable mutex mutex_;
  bulk_connection* wire_ LEAT_GUARDED_BY(mutex_) = nullptr;
  bool is_cut_ LEAT_GUARDED_BY(mutex_) = false;
  waiting_frames waiting_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
