#pragma once

#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/payload_pieces.hpp"
#include "runtime/network/links/bulk_frame.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Frames that a connection did not take yet, in their order. A peer that takes nothing is to be
/// cut off: its owner asks `is_overfull` whenever it adds a note, and `is_stuck` now and then. One
/// thread at a time.
class waiting_frames {
public:
  /// Of notes and of other short answers, which a peer may ask for without end.
  static constexpr std::size_t most_note_bytes = std::size_t{16} << 20;

  /// A note.
  template <class Connection>
  void send(Connection& by, bulk_frame x) {
    const auto bytes = bytes_of_note(x);
    note_bytes_ += bytes;
    waiting_.push_back({std::move(x), bytes});
    flush(by);
  }
  /// One directly after the other. Whoever sends these waits until they are taken before it sends
  /// more: they are not counted.
  template <class Connection>
  void send(Connection& by, std::vector<bulk_frame> all) {
    for (auto& x : all)
      waiting_.push_back({std::move(x), 0});
    flush(by);
  }
  /// As far as the connection takes them; it says when to call this again.
  template <class Connection>
  void flush(Connection& by) {
    while (!waiting_.empty() && by.send(waiting_.front().frame)) {
      note_bytes_ -= waiting_.front().note_bytes;
      waiting_.pop_front();
      ++taken_;
    }
  }
  bool is_empty() const noexcept { return waiting_.empty(); }
  bool is_overfull() const noexcept { return note_bytes_ > most_note_bytes; }

  /// Whether nothing of what waits was taken for so long, in nanoseconds, as far as was seen by
  /// these calls.
  bool is_stuck(std::int64_t now, std::int64_t after) noexcept {
    if (waiting_.empty() || taken_ != seen_ || since_ == 0) {
      seen_ = taken_;
      since_ = waiting_.empty() ? 0 : now;
    }
    return since_ != 0 && now - since_ >= after;
  }

private:
  struct line {
    bulk_frame frame;
    std::size_t note_bytes;
  };

  static std::size_t bytes_of_note(const bulk_frame& x) noexcept {
    auto bytes = x.words.size() + cost_of_frame;
    for (const auto& part : x.payload)
      bytes += part.size();
    return bytes;
  }

  std::deque<line> waiting_;
  std::size_t note_bytes_ = 0;
  // How many were taken, now and when is_stuck() was asked first while that was so.
  std::uint64_t taken_ = 0;
  std::uint64_t seen_ = 0;
  std::int64_t since_ = 0;
};

inline bulk_frame frame_of(const lending_note& x) {
  return {.kind = frame_kind::note, .words = encode(x)};
}

/// A frame that owns its payload.
inline bulk_frame frame_with(frame_kind kind, std::uint64_t number, std::string payload) {
  return frames_of(kind, number, std::move(payload), 0, most_bulk_payload).front();
}

} // namespace leat
