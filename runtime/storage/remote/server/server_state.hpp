#pragma once

#include "runtime/storage/remote/range_fetch.hpp"
#include "runtime/storage/remote/server/flow_limit.hpp"
#include "runtime/storage/remote/server/hedge_timer.hpp"
#include "runtime/storage/remote/transfers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace leat {

using fetch_ptr = std::shared_ptr<range_fetch>;

/// What is known of a server, and the fetches that wait for their turn.
struct server_state {
  server_state(const transfer_settings& how, std::int64_t now)
      : flow(how.first_in_flight, how.most_in_flight), hedges(how.hedge_after.count()),
        last_use(now) {}

  flow_limit flow;
  hedge_timer hedges;
  retry_budget retries;
  std::deque<fetch_ptr> urgent;
  std::deque<fetch_ptr> others;
  std::size_t in_flight = 0;
  /// It wants to be left alone until then.
  std::int64_t pause_until = 0;
  bool has_answered = false;
  /// When something of use came last.
  std::int64_t last_use;
  /// Until then it is not asked, and these are the words for it.
  std::int64_t given_up_until = 0;
  std::string got = {};
  std::string needed = {};
  /// The shortest so far, in nanoseconds; 0: unknown.
  std::int64_t round_trip = 0;
  /// Some wait for their turn, and `transfer_counts::queued` knows.
  bool is_queued = false;

  void was_of_use(std::int64_t now) noexcept {
    last_use = now;
    given_up_until = 0;
  }
  /// A fetch has waited in vain for as long as any may. If nothing came for others either, those
  /// that begin now fail as well: each row of a batch would wait that long once more. False: others
  /// had something.
  bool give_up(const std::string& last_got, const std::string& last_needed,
               const transfer_settings& how, std::int64_t now) {
    constexpr std::int64_t longest = 5'000'000'000; // by then somebody may have mended it
    const auto silent = now - last_use;
    if (silent < std::min(how.retry.patience, how.first_answer.count()) / 2)
      return false;
    given_up_until = now + std::min(longest, how.retry.patience / 8);
    got = last_got + ", and nothing else of this server";
    needed = last_needed;
    return true;
  }

  bool has_waiting() const noexcept { return !urgent.empty() || !others.empty(); }
  fetch_ptr take() {
    auto& from = urgent.empty() ? others : urgent;
    auto x = std::move(from.front());
    from.pop_front();
    return x;
  }
};

} // namespace leat
