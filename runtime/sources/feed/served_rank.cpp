#include "runtime/sources/feed/served_rank.hpp"

#include <algorithm>

namespace leat {

namespace {

/// Records that one rank may have asked for, and that were not sent yet.
constexpr std::size_t most_asked = 1 << 20;

} // namespace

bool served_rank::may_say(const feed_want& x, const feed_offer& own) const {
  const auto is_there = [&](std::uint64_t number) { return number < own.next; };
  return x.used <= sent_bytes_ && x.used >= said_.used
         && asked_.size() + urgent_.size() + x.fetch.size() <= most_asked
         && std::all_of(x.fetch.begin(), x.fetch.end(), is_there)
         && (!has_said_ || said_.place == x.place);
}

void served_rank::hear(const feed_want& x, const feed_offer& own) {
  for (const auto number : x.fetch)
    if (number < own.first)
      must_hear_ = true; // that it is gone
    else
      asked_.push_back(number);
  const auto moves = [](std::uint64_t number, auto& from, auto& to) {
    const auto at = std::find(from.begin(), from.end(), number);
    if (at == from.end())
      return false;
    from.erase(at);
    to.push_back(number);
    return true;
  };
  for (const auto number : x.urgent)
    if (!moves(number, asked_, urgent_))
      moves(number, taken_, hurried_); // any other was sent
  has_said_ = true;
  said_ = x;
  said_.fetch.clear();
  said_.urgent.clear();
}

std::optional<feed_offer> served_rank::take_offer(const feed_offer& own, bool all) {
  // That records were forgotten, and what they cost, is told with what else there is.
  const auto has_come = [&](const lanes_of_rank& place) {
    return place.have_record_in(told_->next, own.next);
  };
  // Its iterators may look at lanes of others, to learn the fields of batches.
  const auto waits_for_it = [&] {
    return said_.is_starved && told_->next < said_.looks_below && said_.looks_below <= own.next;
  };
  const bool is_news = all || must_hear_ || !told_ || told_->has_ended != own.has_ended
                       || told_->has_failed == own.failure.empty()
                       || has_come(has_said_ ? said_.place : lanes_of_rank{}) || waits_for_it();
  if (!is_news)
    return std::nullopt;
  must_hear_ = false;
  told_ = {own.next, own.has_ended, !own.failure.empty()};
  return own;
}

served_rank::portion served_rank::take(const feed_offer& own, std::size_t most) {
  portion x{.room = said_.window - std::min(said_.window, bytes_under_way())};
  const auto move = [&](std::deque<std::uint64_t>& from, std::vector<std::uint64_t>& to) {
    for (; !from.empty() && x.urgent.size() + x.others.size() < most; from.pop_front())
      if (from.front() >= own.first)
        to.push_back(from.front());
      else
        must_hear_ = true; // it was forgotten meanwhile
  };
  move(urgent_, x.urgent);
  if (x.room > 0)
    move(asked_, x.others);
  taken_ = x.others;
  hurried_.clear();
  return x;
}

void served_rank::give_back(const portion& x) {
  urgent_.insert(urgent_.begin(), x.urgent.begin(), x.urgent.end());
  std::vector<std::uint64_t> others;
  for (const auto number : x.others)
    if (std::find(hurried_.begin(), hurried_.end(), number) == hurried_.end())
      others.push_back(number);
    else
      urgent_.push_back(number);
  asked_.insert(asked_.begin(), others.begin(), others.end());
  taken_.clear();
  hurried_.clear();
}

} // namespace leat
