#include "runtime/job/worker_control.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace leat {

namespace {

constexpr std::uint64_t batches_a_window = 8;
constexpr std::chrono::milliseconds shortest_window{200};
/// Share of a window's time.
constexpr double waits = 0.05;
constexpr double hardly_waits = 0.01;
/// Share of a worker's time.
constexpr double is_busy = 0.8;
constexpr double has_room = 0.75;
constexpr std::uint64_t windows_before_fewer = 5;

double share(std::chrono::nanoseconds part, std::chrono::nanoseconds whole) noexcept {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

} // namespace

bool worker_control::ends_window(std::chrono::nanoseconds now) noexcept {
  // What came before the first batch says nothing: the first window begins with it.
  return !has_begun_
         || (++begin_.batches >= batches_a_window && now - begin_.now >= shortest_window);
}

std::size_t worker_control::judge(const worker_measurement& x) noexcept {
  if (std::exchange(has_begun_, true))
    decide(x);
  begin_ = {x.now, x.waited, x.busy, 0};
  workers_ = std::clamp<std::size_t>(workers_, 1, std::max<std::size_t>(1, x.most));
  return workers_;
}

void worker_control::decide(const worker_measurement& x) noexcept {
  const auto time = x.now - begin_.now;
  const auto waited = share(x.waited - begin_.waited, time);
  const auto busy = share(x.busy - begin_.busy, time); // in workers
  const auto now = static_cast<double>(workers_);
  const auto idle_windows = std::exchange(idle_windows_, 0);
  if (waited > waits && busy >= is_busy * now) {
    least_ = std::min(workers_ + 1, std::max<std::size_t>(1, x.most));
    workers_ = 2 * workers_;
  } else if (waited < hardly_waits && workers_ > least_ && busy <= has_room * (now - 1)) {
    idle_windows_ = idle_windows + 1;
    if (idle_windows_ == windows_before_fewer) {
      idle_windows_ = 0;
      const auto needed = static_cast<std::size_t>(std::ceil(busy / has_room));
      workers_ = std::max(least_, workers_ - std::max<std::size_t>(1, (workers_ - needed) / 2));
    }
  }
}

} // namespace leat
