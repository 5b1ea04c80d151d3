#pragma once

#include "runtime/base/not_copied.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace leat {

/// Records which function of an operator runs in a thread that runs iterators. That thread writes;
/// any thread reads. There is no clock in it, since iterators make millions of calls per second: an
/// observer that sees the same call twice knows how long it has run at least.
class alignas(64) call_record {
public:
  struct call {
    /// Counts calls from 1.
    std::uint64_t number = 0;
    /// Name of the operator: "filter even@1". Lives as long as the pipeline's plan.
    const std::string* stage = nullptr;
    std::uint64_t lane = 0;
  };

  /// Records a call that runs while this lives. Calls do not nest.
  class scope : not_copied {
  public:
    scope(call_record& record, const std::string& stage, std::uint64_t lane) noexcept
        : record_(record) {
      const auto number = record_.number_.load(std::memory_order_relaxed) + 1;
      record_.lane_.store(lane, std::memory_order_relaxed);
      record_.stage_.store(&stage, std::memory_order_relaxed);
      record_.number_.store(number, std::memory_order_release);
    }
    ~scope() { record_.stage_.store(nullptr, std::memory_order_relaxed); }

  private:
    call_record& record_;
  };

  /// The call that is running; nothing between calls.
  std::optional<call> running() const noexcept {
    const auto number = number_.load(std::memory_order_acquire);
    const auto* stage = stage_.load(std::memory_order_relaxed);
    const auto lane = lane_.load(std::memory_order_relaxed);
    if (!stage)
      return std::nullopt;
    return call{number, stage, lane};
  }

  /// Calls that have begun.
  std::uint64_t number() const noexcept { return number_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> number_{0};
  std::atomic<const std::string*> stage_{nullptr};
  std::atomic<std::uint64_t> lane_{0};
};

/// Checks a record from time to time, to find a call that does not return. One thread.
class call_watch {
public:
  /// The running call, if it was already there `limit_ns` ago. `now_ns`: see `steady_ns`.
  std::optional<call_record::call> look(const call_record& record, std::int64_t now_ns,
                                        std::int64_t limit_ns) noexcept {
    const auto x = record.running();
    if (!x || x->number != seen_) {
      seen_ = x ? x->number : 0;
      since_ns_ = now_ns;
      return std::nullopt;
    }
    return now_ns - since_ns_ >= limit_ns ? x : std::nullopt;
  }

  /// When the call that `look` saw last was first seen; if no call was running, the time of that
  /// look.
  std::int64_t since_ns() const noexcept { return since_ns_; }

private:
  std::uint64_t seen_ = 0;
  std::int64_t since_ns_ = 0;
};

} // namespace leat
