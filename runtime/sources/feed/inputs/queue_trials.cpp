#include "runtime/sources/feed/inputs/queue_trials.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

constexpr std::chrono::milliseconds first_queue_pause{50};
constexpr std::chrono::milliseconds longest_queue_pause{5'000};
constexpr unsigned most_queue_doublings = 10;
/// A connection that has lasted so long counts, even if nothing came by it.
constexpr std::chrono::seconds lasting_connection{5};

} // namespace

bool queue_trials::greeted(time_point now) noexcept {
  greeted_at_ = now;
  return since_ && greetings_++ == 0;
}

bool queue_trials::done() noexcept {
  const bool was_lost_again = since_ && greetings_ > 1;
  since_.reset();
  tries_ = greetings_ = 0;
  return was_lost_again;
}

queue_trials::verdict queue_trials::lost(time_point now) noexcept {
  const auto greeted_at = std::exchange(greeted_at_, std::nullopt);
  if (greeted_at && now - *greeted_at >= lasting_connection)
    (void)done();
  const bool is_first = !since_;
  if (is_first)
    since_ = now;
  const auto end = *since_ + patience_;
  const auto pause = std::min(longest_queue_pause,
                              first_queue_pause * (1U << std::min(tries_, most_queue_doublings)));
  const bool is_second = tries_++ == 1;
  return {.gives_up = now >= end,
          .is_first = is_first,
          .is_worth_a_notice = is_second,
          .was_greeted = greetings_ > 0,
          .pause = std::min<std::chrono::nanoseconds>(pause, end - now)};
}

} // namespace leat
