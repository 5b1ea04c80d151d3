#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace leat {

/// How many requests to one server may be in flight: more as long as all are answered, half as many
/// as soon as one is refused for being too many (additive increase, multiplicative decrease).
class flow_limit {
public:
  static constexpr std::size_t fewest = 1;

  explicit flow_limit(std::size_t first = 16, std::size_t most = 256) noexcept
      : limit_(std::min(first, most)), most_(most) {}

  std::size_t limit() const noexcept { return limit_; }
  /// A request is sent; returns its mark for `refused`.
  std::uint64_t begin() noexcept { return ++begun_; }
  /// A request was answered. `was_full`: others wait for their turn.
  void answered(bool was_full) noexcept {
    if (!was_full || limit_ == most_ || ++answered_ < limit_)
      return;
    answered_ = 0;
    ++limit_;
  }
  /// A request was refused, for being too many. Those sent before the last decrease do not count:
  /// they met the server as it was then.
  void refused(std::uint64_t mark) noexcept {
    if (mark <= decreased_at_)
      return;
    decreased_at_ = begun_;
    answered_ = 0;
    limit_ = std::max(limit_ / 2, fewest);
  }

private:
  std::size_t limit_;
  std::size_t most_;
  std::size_t answered_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t decreased_at_ = 0;
};

} // namespace leat
