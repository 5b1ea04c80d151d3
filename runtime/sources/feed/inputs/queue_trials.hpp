#pragma once

#include <chrono>
#include <optional>

namespace leat {

/// Says how long to wait before another connection to a queue's server, and when to give up. A
/// plain value, which is told of all that happens and when.
///
/// A connection that was greeted has not shown yet that the server is of use: whatever passes
/// connections on may take one, and end it. It counts once something was done on it, or once it has
/// lasted: a queue may have nothing to say for long.
class queue_trials {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `patience`: how long there may be no connection that counts.
  explicit queue_trials(std::chrono::seconds patience) : patience_(patience) {}

  /// A connection was made and greeted. Whether that is worth a notice: the first one after a loss.
  bool greeted(time_point now) noexcept;
  /// Something was done on it. Whether that is worth a notice: others were lost at once before it.
  bool done() noexcept;

  struct verdict {
    /// Patience has ended.
    bool gives_up = false;
    /// Before this loss there was a connection that counts.
    bool is_first = false;
    /// The first try after the loss has not helped.
    bool is_worth_a_notice = false;
    /// Since the first loss some connection was greeted.
    bool was_greeted = false;
    /// Before the next try.
    std::chrono::nanoseconds pause{0};
  };
  /// The connection was lost, or could not be made or greeted.
  verdict lost(time_point now) noexcept;

private:
  const std::chrono::seconds patience_;
  /// Since when there has been no connection that counts; nothing while there is one.
  std::optional<time_point> since_;
  std::optional<time_point> greeted_at_;
  unsigned tries_ = 0;
  unsigned greetings_ = 0;
};

} // namespace leat
