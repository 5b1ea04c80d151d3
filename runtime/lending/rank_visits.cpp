#include "runtime/lending/rank_visits.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/links/dial_peer.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_set>

namespace leat {

namespace {

constexpr std::int64_t between_questions = 1'000'000'000;
/// Between two attempts to dial, in ns: at first, and at most.
constexpr std::int64_t first_pause = 100'000'000;
constexpr std::int64_t last_pause = 1'000'000'000;
/// Ranks that a coordinator lists to each process per second, or so.
constexpr std::size_t listed_per_second = 256;

} // namespace

rank_visits::rank_visits(visit_wish wish, const find_ranks& find,
                         std::shared_ptr<renewed_certificates> own, calls made)
    : wish_(std::move(wish)), find_(find), certificates_(std::move(own)), calls_(std::move(made)) {}

void rank_visits::run() {
  try {
    calls_.begin();
    visit();
  } catch (const error& problem) {
    calls_.end();
    if (problem.code() != errc::interrupted)
      throw;
  } catch (...) { // as of `log`
    calls_.end();
    throw;
  }
  calls_.end();
}

void rank_visits::visit() {
  rank_line first{wish_.join, wish_.log};
  if (wish_.join.empty())
    follow(first);
  else
    dial_and_help(first);
  const mutex_lock lock{mutex_};
  if (failure_)
    std::rethrow_exception(failure_);
}

/// Until it is asked to end, or the place is not listed any more.
void rank_visits::dial_and_help(rank_line& to) {
  auto pause = first_pause;
  for (bool goes_on = true; goes_on;
       goes_on = to.is_listed && calls_.wait_until(steady_ns() + pause)) {
    const dial_wish wish{.to = parse_address(to.address, wish_.option),
                         .own = certificates_ ? certificates_->now() : nullptr,
                         .expected = to.is_named
                                         ? link_roles{link_role::rank}
                                         : link_roles{link_role::rank, link_role::coordinator},
                         .hello = {.role = wish_.as, .token = secret{wish_.token}}};
    bool has_helped = false;
    try {
      auto peer = dial_peer(wish, &calls_.stop);
      if (peer.role == link_role::rank) {
        has_helped = calls_.help(std::move(peer), to);
      } else {
        peer = {}; // it is asked on a connection of another kind
        has_helped = follow(to);
      }
    } catch (const error& problem) {
      if (problem.code() == errc::interrupted)
        return;
      to.log_once("waits for " + to.address + ": " + problem.what());
    } catch (const std::bad_alloc&) { // as if there were no more threads
      to.log_once("waits for " + to.address + ": no more memory");
    }
    // A rank that does not want this helper now will hardly want it in a moment.
    pause = has_helped ? first_pause : std::min(2 * pause, last_pause);
  }
}

/// Helps all ranks that a coordinator names, as long as there are some. False if there were none.
bool rank_visits::follow(rank_line& to) {
  std::list<rank_line> ranks;
  const auto leave = [&] {
    for (auto& rank : ranks)
      rank.is_listed = false;
    for (auto& rank : ranks)
      rank.thread.join();
  };
  bool has_found = false;
  try {
    auto pause = between_questions;
    for (bool goes_on = true; goes_on; goes_on = calls_.wait_until(steady_ns() + pause)) {
      std::optional<std::vector<std::string>> places;
      try {
        places = find_();
        has_found = has_found || !places->empty();
        if (places->size() <= wish_.most_ranks)
          to.told.clear();
      } catch (const error& problem) {
        to.log_once("waits for " + to.address + ": " + problem.what());
      }
      if (places) {
        help_those(*places, ranks);
        if (places->size() > wish_.most_ranks)
          to.log_once(std::to_string(places->size()) + " ranks are there, of which "
                      + std::to_string(wish_.most_ranks) + " at a time are served");
        if (wish_.asks_rarely)
          pause =
              between_questions * static_cast<std::int64_t>(1 + places->size() / listed_per_second);
      }
      ranks.remove_if([](rank_line& rank) {
        if (!rank.is_over)
          return false;
        rank.thread.join();
        return true;
      });
      if (!places && ranks.empty())
        break;
    }
  } catch (...) {
    calls_.end();
    leave();
    throw;
  }
  leave();
  return has_found;
}

/// Begins to help at places that are new, and ends at those that are gone as soon as their ranks
/// are.
void rank_visits::help_those(const std::vector<std::string>& places, std::list<rank_line>& ranks) {
  const std::unordered_set<std::string_view> listed{places.begin(), places.end()};
  std::unordered_set<std::string_view> known;
  for (auto& rank : ranks) {
    rank.is_listed = listed.contains(rank.address);
    known.insert(rank.address);
  }
  for (const auto& place : places) {
    if (ranks.size() >= wish_.most_ranks || !known.insert(place).second)
      continue;
    auto& rank = ranks.emplace_back(place, wish_.log);
    rank.is_named = true;
    try {
      rank.thread = begin_thread(std::string{to_string(wish_.as)}, [this, &rank] {
        try {
          dial_and_help(rank);
        } catch (...) { // as of `log`
          fail(std::current_exception());
        }
        rank.is_over = true;
      });
    } catch (...) {
      ranks.pop_back();
      throw;
    }
  }
}

void rank_visits::fail(std::exception_ptr problem) noexcept {
  {
    const mutex_lock lock{mutex_};
    if (!failure_)
      failure_ = std::move(problem);
  }
  calls_.end();
}

} // namespace leat
