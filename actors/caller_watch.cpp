#include "actors/caller_watch.hpp"

#include "runtime/stuck_report.hpp"

#include <leat/notice.hpp>

#include <optional>
#include <utility>

namespace leat {

namespace {

constexpr const char* in_callers_thread = "in the caller's thread";

} // namespace

caller_watch::caller_watch(std::chrono::milliseconds limit, std::function<void(const error&)> tell)
    : limit_(limit), tell_(std::move(tell)) {}

void caller_watch::look_at(std::shared_ptr<const row_plan> plan, const doing& records) {
  if (limit_.count() == 0)
    return;
  {
    std::lock_guard lock{mutex_};
    plan_ = std::move(plan);
    records_ = records;
    calls_ = {};
  }
  if (registration_)
    return;
  try {
    registration_ = watch_thread::add(limit_, [this] { look(); });
  } catch (const error&) {
    // The work itself needs no thread; where it does, the error comes from there.
  }
}

void caller_watch::look_away() {
  registration_ = {};
  std::lock_guard lock{mutex_};
  plan_ = nullptr;
}

void caller_watch::look() {
  std::optional<error> found;
  {
    std::lock_guard lock{mutex_};
    const auto limit_ns = std::chrono::nanoseconds{limit_}.count();
    const auto now = steady_ns();
    const auto since = records_.rows->since_ns.load(std::memory_order_relaxed);
    if (since != 0 && now - since >= limit_ns)
      found = stuck_row(*plan_, *records_.rows, in_callers_thread, limit_);
    else if (const auto call = calls_.look(*records_.programs, now, limit_ns))
      found = stuck_call(*call, in_callers_thread, limit_);
  }
  if (found)
    tell_ ? tell_(*found) : notice(std::string{"loader: "} + found->what());
}

} // namespace leat
