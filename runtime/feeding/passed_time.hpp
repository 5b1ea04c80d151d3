#pragma once

#include <cstdint>

namespace leat {

/// How long threads have been in a state, such as waiting; those that are in it now count up to
/// now. A plain value; times are nanoseconds of a steady clock.
class passed_time {
public:
  void enter(std::int64_t now) noexcept {
    pass(now);
    ++inside_;
  }
  /// After an `enter`.
  void leave(std::int64_t now) noexcept {
    pass(now);
    --inside_;
  }
  bool is_inside() const noexcept { return inside_ > 0; }

  /// Summed up over all threads.
  std::int64_t sum(std::int64_t now) const noexcept { return sum_ + inside_ * since(now); }
  /// Part of the time in which any thread was in it.
  std::int64_t any(std::int64_t now) const noexcept {
    return any_ + (is_inside() ? since(now) : 0);
  }

private:
  std::int64_t since(std::int64_t now) const noexcept { return now > last_ ? now - last_ : 0; }
  void pass(std::int64_t now) noexcept {
    sum_ = sum(now);
    any_ = any(now);
    last_ = now > last_ ? now : last_;
  }

  std::int64_t inside_ = 0;
  std::int64_t last_ = 0;
  std::int64_t sum_ = 0;
  std::int64_t any_ = 0;
};

} // namespace leat
