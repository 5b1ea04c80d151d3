#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/feeding/feed_settings.hpp"
#include "runtime/sources/feed/placed_input.hpp"

#include <cstdint>

namespace leat {

/// Lets go of records that no rank asks for again: those of a queue are acknowledged there before
/// they are forgotten. For one thread.
class covered_records : not_copied {
public:
  /// `queue`: where they come from; null if nobody there wants to know. Both outlive this.
  covered_records(feed_records& of, placed_input* queue);

  /// All before this number were let go.
  std::uint64_t below() const noexcept { return below_; }
  /// What ranks have covered before this process reads its queue is let go once it does: until then
  /// the journal has the places.
  bool must_wait() const { return queue_ && !queue_->is_open(); }
  /// Lets go of those before this number; blocks while the queue is told. False if that was
  /// interrupted: what was not acknowledged stays. Throws what the input and the store throw.
  bool let_go(std::uint64_t below);

private:
  bool acknowledge(std::uint64_t below);

  feed_records& of_;
  placed_input* const queue_;
  std::uint64_t below_;
};

} // namespace leat
