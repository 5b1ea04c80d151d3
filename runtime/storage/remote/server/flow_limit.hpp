#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace leat {

/// How many requests to one server may be in flight: more as long as that brings more bytes per
/// second, half as many as soon as more than one in nine is refused for being too many: fewer are
/// sent again and cost less than a lower limit, and some services refuse one now and then whatever
/// is in flight. More than the way to the server holds only wait there: they take memory, and what
/// is urgent comes after them.
///
/// Doubles at first, then tries a quarter more now and then. A round is as many answers as there
/// may be requests in flight; the round after a change still has answers to earlier requests, and
/// is not measured.
class flow_limit {
public:
  static constexpr std::size_t fewest = 1;

  explicit flow_limit(std::size_t first = 32, std::size_t most = 256) noexcept
      : limit_(std::min(first, most)), most_(most), base_(limit_) {}

  std::size_t limit() const noexcept { return limit_; }
  /// A request is sent; returns its mark for `refused`.
  std::uint64_t begin() noexcept { return ++begun_; }
  /// A request was answered, in this nanosecond. `was_full`: others wait for their turn; otherwise
  /// the limit limits nothing.
  void answered(bool was_full, std::uint64_t bytes, std::int64_t now) noexcept {
    refusals_ -= refusals_ > 0 ? 1 : 0;
    if (!was_full)
      return begin_round(none);
    if (round_begun_ == none)
      return begin_round(now);
    bytes_ += bytes;
    if (++answers_ < limit_)
      return;
    const auto rate = static_cast<double>(bytes_)
                      / static_cast<double>(std::max<std::int64_t>(1, now - round_begun_));
    begin_round(now);
    if (!settles_)
      return judge(rate);
    settles_ = false;
  }
  /// A request was refused, for being too many. Those sent before the last decrease do not count:
  /// they met the server as it was then.
  void refused(std::uint64_t mark) noexcept {
    if (mark <= decreased_at_)
      return;
    refusals_ += weight_of_refusal;
    if (refusals_ < most_refusals)
      return;
    refusals_ = 0;
    decreased_at_ = begun_;
    change_to(std::max(limit_ / 2, fewest));
    base_ = limit_;
    rest();
  }

private:
  static constexpr std::int64_t none = -1;
  static constexpr std::size_t rounds_of_rest = 16;
  /// In answers that make good for one.
  static constexpr std::size_t weight_of_refusal = 8;
  /// So much more than was made good is no chance, but the server's limit.
  static constexpr std::size_t most_refusals = 64;

  void begin_round(std::int64_t now) noexcept {
    round_begun_ = now;
    bytes_ = 0;
    answers_ = 0;
  }
  void change_to(std::size_t limit) noexcept {
    limit_ = limit;
    settles_ = true;
    begin_round(none);
  }
  void rest() noexcept {
    doubles_ = false;
    resting_ = rounds_of_rest;
  }
  /// What is in flight beyond `base_` must bring a quarter of its share.
  void judge(double rate) noexcept {
    if (limit_ > base_) {
      const auto more = static_cast<double>(limit_) / static_cast<double>(base_) - 1;
      if (rate < base_rate_ * (1 + more / 4)) {
        change_to(base_);
        return rest();
      }
    } else if (resting_ > 0) {
      --resting_;
      return;
    }
    if (limit_ == most_)
      return;
    base_ = limit_;
    base_rate_ = rate;
    change_to(
        std::min(most_, doubles_ ? 2 * limit_ : limit_ + std::max<std::size_t>(1, limit_ / 4)));
  }

  std::size_t limit_;
  std::size_t most_;
  /// What is known to be of use, and what it brought.
  std::size_t base_;
  double base_rate_ = 0;
  bool doubles_ = true;
  bool settles_ = false;
  std::size_t resting_ = 0;
  std::int64_t round_begun_ = none;
  std::uint64_t bytes_ = 0;
  std::size_t answers_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t decreased_at_ = 0;
  /// Rises by the weight of each refusal, falls by one with each answer.
  std::size_t refusals_ = 0;
};

} // namespace leat
