#include "actors/caller_watch.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/rows/stuck_report.hpp"

#include <leat/notice.hpp>

#include <optional>
#include <string>
#include <utility>

namespace leat {

namespace {

constexpr const char* in_callers_thread = "in the caller's thread";

} // namespace

caller_watch::caller_watch(std::chrono::milliseconds limit, std::function<void(const error&)> tell)
    : limit_(limit), tell_(std::move(tell)) {}

void caller_watch::look_at(std::shared_ptr<const job_plan> plan, const doing& records) {
  if (limit_.count() == 0)
    return;
  const mutex_lock lock{mutex_};
  if (ended_)
    return;
  plan_ = std::move(plan);
  records_ = records;
  calls_ = {};
  if (registration_)
    return;
  try {
    registration_ = watch_thread::add(limit_, [this] { look(); });
  } catch (const error&) {
    // The work itself needs no thread here; if it needs one, it throws the error itself.
  }
}

void caller_watch::look_away() {
  watch_thread::registration last; // its end waits for look(), which locks
  const mutex_lock lock{mutex_};
  last = std::move(registration_);
  plan_ = nullptr;
}

void caller_watch::end() {
  {
    const mutex_lock lock{mutex_};
    ended_ = true;
  }
  look_away();
}

void caller_watch::look() {
  // The text is made from copies, without the lock: a function of the user's, which gives ids, may
  // take long.
  std::shared_ptr<const job_plan> plan;
  doing records;
  bool is_row_stuck = false;
  std::optional<call_record::call> stuck;
  {
    mutex_lock lock{mutex_};
    plan = plan_;
    records = records_;
    const auto limit_ns = std::chrono::nanoseconds{limit_}.count();
    const auto now = steady_ns();
    const auto since = records.rows->since_ns.load(std::memory_order_relaxed);
    is_row_stuck = since != 0 && now - since >= limit_ns;
    if (!is_row_stuck)
      stuck = calls_.look(*records.iterators, now, limit_ns);
  }
  if (is_row_stuck)
    say(stuck_row(*plan, *records.rows, in_callers_thread, limit_));
  else if (stuck)
    say(stuck_call(*stuck, in_callers_thread, limit_));
}

void caller_watch::say(const error& problem) const {
  const std::string text = std::string{"loader: "} + problem.what();
  if (!tell_)
    return notice(text);
  try {
    tell_(problem);
  } catch (...) {
    notice(text + "; on_stuck threw: " + exception_text());
  }
}

} // namespace leat
