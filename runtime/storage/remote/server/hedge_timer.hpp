#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace leat {

/// When a request is slow enough to be sent a second time, on another connection, in case the first
/// one hangs: after three times as long as all but the slowest of the last ones took. Times are in
/// nanoseconds.
class hedge_timer {
public:
  /// `least`: no request is slow before that.
  explicit hedge_timer(std::int64_t least = 50'000'000) noexcept : least_(least) {}

  /// A first request is sent.
  void asked() noexcept { ++asked_; }
  /// A request that was sent once took this long.
  void took(std::int64_t ns) noexcept {
    last_[count_++ % last_.size()] = ns;
    if (count_ % last_.size() == 0)
      learn();
  }
  /// How long to wait for a request before the second is sent.
  std::int64_t delay() const noexcept {
    return count_ < last_.size() ? std::max(least_, at_first) : std::max(least_, 3 * usual_);
  }
  /// Whether another may be sent a second time: at most one in twenty.
  bool take() noexcept {
    if (hedges_ >= 2 + asked_ / 20)
      return false;
    ++hedges_;
    return true;
  }
  std::uint64_t hedges() const noexcept { return hedges_; }

private:
  static constexpr std::int64_t at_first = 1'000'000'000;

  void learn() noexcept {
    auto sorted = last_;
    const auto at = sorted.begin() + sorted.size() * 9 / 10;
    std::nth_element(sorted.begin(), at, sorted.end());
    usual_ = *at;
  }

  std::int64_t least_;
  std::int64_t usual_ = 0;
  std::array<std::int64_t, 32> last_{};
  std::uint64_t count_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t hedges_ = 0;
};

} // namespace leat
