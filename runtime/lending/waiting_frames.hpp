#pragma once

#include "runtime/lending/lending_messages.hpp"
#include "runtime/network/links/bulk_connection.hpp"

#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace leat {

/// Frames that a connection did not take yet, in their order. One thread at a time.
class waiting_frames {
public:
  void send(bulk_connection& by, bulk_frame x) {
    waiting_.push_back(std::move(x));
    flush(by);
  }
  /// As far as the connection takes them; it says when to call this again.
  void flush(bulk_connection& by) {
    while (!waiting_.empty() && by.send(waiting_.front()))
      waiting_.pop_front();
  }
  bool is_empty() const noexcept { return waiting_.empty(); }

private:
  std::deque<bulk_frame> waiting_;
};

inline bulk_frame frame_of(const lending_note& x) {
  return {.kind = frame_kind::note, .words = encode(x)};
}

/// A frame that owns its payload.
inline bulk_frame frame_with(frame_kind kind, std::uint64_t number, std::string payload) {
  const auto owner = std::make_shared<const std::string>(std::move(payload));
  return {
      .kind = kind, .number = number, .payload = {{owner->data(), owner->size()}}, .owner = owner};
}

} // namespace leat
