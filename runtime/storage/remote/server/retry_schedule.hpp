#pragma once

#include <leat/rng.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace leat {

/// When requests are made again. Times are in nanoseconds.
struct retry_settings {
  /// The first pause is drawn below this, each later one below twice as much, up to `longest`.
  std::int64_t first = 100'000'000;
  std::int64_t longest = 20'000'000'000;
  /// A request that brings nothing for this long fails: before `stuck_after` ends a job whose reads
  /// do not return, which cannot say why.
  std::int64_t patience = 240'000'000'000;
  /// So many responses that contradict what was asked for fail a request.
  int most_wrong = 3;
  /// For the pauses.
  std::uint64_t seed = 0;
};

/// Repeated requests to one server: a tenth of all, and a hundred, so that a server which fails
/// everything is not asked several times as often as one that works.
class retry_budget {
public:
  void asked() noexcept { tenths_ = std::min(tenths_ + 1, most_tenths); }
  /// False: wait as long as if many tries had failed.
  bool take() noexcept {
    if (tenths_ < 10)
      return false;
    tenths_ -= 10;
    return true;
  }

private:
  static constexpr std::uint64_t most_tenths = 1000;
  std::uint64_t tenths_ = most_tenths;
};

/// When to ask again for one range: after a pause drawn evenly between nothing and a limit that
/// doubles ("full jitter"), so that clients which failed together do not come back together.
class retry_schedule {
public:
  /// `number`: that of the request, which distinguishes its pauses from those of others.
  retry_schedule(const retry_settings& how, std::uint64_t number, std::int64_t now) noexcept
      : how_(how), draw_(how.seed, number), last_progress_(now) {}

  /// Bytes have come.
  void progressed(std::int64_t now) noexcept {
    last_progress_ = now;
    tries_ = 0;
  }
  /// The response contradicted the request. False: no more of these.
  bool take_wrong() noexcept { return ++wrong_ < how_.most_wrong; }
  int attempts() const noexcept { return attempts_; }
  void begin_attempt() noexcept { ++attempts_; }

  /// The time of the next try; nothing if patience has ended, or would have by then. `asked_for`: a
  /// pause that the server wants, which counts in full.
  std::optional<std::int64_t> next(std::int64_t now, std::optional<std::int64_t> asked_for,
                                   bool has_budget) noexcept {
    constexpr int most_doublings = 20;
    const auto doublings = has_budget ? std::min(tries_, most_doublings) : most_doublings;
    ++tries_;
    const auto limit = std::min(how_.longest, how_.first << doublings);
    auto pause = static_cast<std::int64_t>(draw_.uniform() * static_cast<double>(limit));
    pause = std::max(pause, asked_for.value_or(0));
    const auto at = now + pause;
    return at - last_progress_ > how_.patience ? std::nullopt : std::optional{at};
  }
  std::int64_t waited(std::int64_t now) const noexcept { return now - last_progress_; }

private:
  retry_settings how_;
  rng draw_;
  std::int64_t last_progress_;
  int tries_ = 0;
  int wrong_ = 0;
  int attempts_ = 0;
};

} // namespace leat
