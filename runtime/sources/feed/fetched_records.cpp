#include "runtime/sources/feed/fetched_records.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace leat {

namespace {

/// Turns of records that went, besides one for each that is here.
constexpr std::size_t most_idle_turns = 1024;

/// Without those of records that went: the oldest one that is here, such as one of another rank's
/// lane, may stay as long as the job.
std::deque<std::uint64_t> turns_left(const std::deque<std::uint64_t>& turns,
                                     const needed_records& all) {
  std::deque<std::uint64_t> left;
  std::set<std::uint64_t> known; // the newest turn counts
  for (auto number = turns.rbegin(); number != turns.rend(); ++number)
    if (const auto* const x = all.find(*number); x && x->was_read && known.insert(*number).second)
      left.push_front(*number);
  return left;
}

} // namespace

fetched_records::content fetched_records::kept(std::string_view text,
                                               const std::shared_ptr<const void>& owner) {
  if (owner) {
    using shared = std::pair<std::shared_ptr<const void>, std::string_view>;
    const auto made = std::make_shared<const shared>(owner, text);
    return {made, &made->second};
  }
  // In one allocation: the bytes follow, in the room of further ones.
  constexpr auto room = sizeof(std::string_view);
  const auto made =
      std::make_shared_for_overwrite<std::string_view[]>(1 + (text.size() + room - 1) / room);
  auto* const bytes = reinterpret_cast<char*>(made.get() + 1);
  std::copy(text.begin(), text.end(), bytes);
  made[0] = {bytes, text.size()};
  return {made, made.get()};
}

// -- users

void fetched_records::need(std::uint64_t number) {
  if (all_.find(number))
    return;
  all_.make(number);
  ++unasked_;
  if (all_.is_own(number))
    asks_from_ = std::min(asks_from_, all_.place_of(number));
}

void fetched_records::await(std::uint64_t number) {
  awaited_.insert(number);
}

fetched_records::content fetched_records::find(std::uint64_t number) const {
  const auto* const x = all_.find(number);
  return x ? x->bytes : nullptr;
}

void fetched_records::note_read(std::uint64_t number, std::uint64_t most_held) {
  if (auto* const x = all_.find(number); x && !std::exchange(x->was_read, true)) {
    ++num_read_;
    read_.push_back(number);
    if (read_.size() > 2 * num_read_ + most_idle_turns)
      read_ = turns_left(read_, all_);
  }
  for (; !read_.empty(); read_.pop_front()) {
    const auto* const oldest = all_.find(read_.front());
    if (!oldest || !oldest->was_read)
      continue; // it went before
    if (held_ <= most_held)
      return;
    drop(read_.front());
  }
}

void fetched_records::drop(std::uint64_t number) {
  const auto* const x = all_.find(number);
  if (!x)
    return;
  if (x->bytes) {
    held_ -= x->bytes->size();
    used_ += x->is_of_link ? x->bytes->size() : 0;
  } else if (x->is_asked) {
    given_up_.insert(number);
  } else {
    --unasked_;
  }
  num_read_ -= x->was_read ? 1 : 0;
  all_.erase(number);
}

void fetched_records::drop_below(std::uint64_t number, std::uint64_t lane) {
  const auto lanes = all_.rank().lanes;
  const auto in_lane = [&](std::uint64_t place) {
    const auto next = all_.number_at(place);
    return next + (lane + lanes - next % lanes) % lanes;
  };
  for (auto next = in_lane(all_.first_place()); next < number;) {
    const auto place = all_.place_of(next);
    const auto there = all_.place_from(place);
    if (there >= all_.end_place())
      return;
    if (there == place)
      drop(next);
    next = there == place ? next + lanes : in_lane(there);
  }
}

// -- the link

void fetched_records::relink() {
  unasked_ = under_way_ = 0;
  received_ = used_ = 0;
  given_up_.clear();
  asks_from_ = all_.first_place();
  const auto forget = [&](record& x) {
    x.is_asked = x.is_urgent = x.is_of_link = false;
    unasked_ += x.is_needed && !x.bytes ? 1 : 0;
  };
  all_.visit_from(all_.first_place(), [&](auto, record& x) {
    forget(x);
    return true;
  });
  for (auto& [number, x] : all_.others())
    forget(x);
}

std::vector<std::uint64_t> fetched_records::take_unasked(std::uint64_t below, std::size_t most) {
  std::vector<std::uint64_t> found;
  if (unasked_ == 0)
    return found;
  const auto ask = [&](std::uint64_t number, record* x) {
    if (!x || !x->is_needed || x->is_asked || x->bytes || number >= below)
      return;
    x->is_asked = true;
    --unasked_;
    ++under_way_;
    found.push_back(number);
  };
  for (const auto number : awaited_)
    ask(number, all_.find(number));
  if (const auto first = all_.first_place(); first < all_.end_place())
    ask(all_.number_at(first), &all_.own(first));
  // More is asked for once half of it has come, rather than one by one: each message costs both
  // ends more than a small record does.
  const auto limit = under_way_ > std::min(unasked_, most / 2) ? 0 : most;
  asks_from_ = all_.visit_from(std::max(asks_from_, all_.first_place()),
                               [&](std::uint64_t place, record& x) {
                                 const auto number = all_.number_at(place);
                                 if (under_way_ >= limit || number >= below)
                                   return false;
                                 ask(number, &x);
                                 return true;
                               });
  return found;
}

bool fetched_records::lacks_first() const {
  const auto* const first = all_.find(all_.number_at(all_.first_place()));
  return first && !first->bytes;
}

std::vector<std::uint64_t> fetched_records::take_urgent(bool is_full) {
  std::vector<std::uint64_t> found;
  const auto hurry = [&](record& x, std::uint64_t number) {
    if (!x.is_asked || x.bytes || x.is_urgent)
      return;
    x.is_urgent = true;
    found.push_back(number);
  };
  for (auto number = awaited_.begin(); number != awaited_.end();) {
    auto* const x = all_.find(*number);
    const bool is_lacked = x && !x->bytes;
    if (is_lacked)
      hurry(*x, *number);
    number = is_lacked ? std::next(number) : awaited_.erase(number);
  }
  if (is_full && lacks_first())
    hurry(all_.own(all_.first_place()), all_.number_at(all_.first_place()));
  return found;
}

bool fetched_records::may_come(std::uint64_t number, bool is_full) const {
  if (under_way_ == 0 || !is_full)
    return under_way_ > 0;
  const auto* const x = all_.find(number);
  // One that is needed no more, or is needed again, may have been urgent before.
  return !x || x->is_urgent || given_up_.contains(number);
}

void fetched_records::put(std::uint64_t number, content bytes) {
  auto* const lacked = all_.find(number);
  --under_way_;
  received_ += bytes->size();
  if (!lacked || lacked->bytes || !lacked->is_asked)
    if (const auto earlier = given_up_.find(number); earlier != given_up_.end())
      given_up_.erase(earlier);
  if (!lacked || lacked->bytes) {
    used_ += bytes->size();
    return;
  }
  unasked_ -= lacked->is_asked ? 0 : 1; // it was needed before, and dropped meanwhile
  held_ += bytes->size();
  lacked->bytes = std::move(bytes);
  lacked->is_of_link = true;
}

std::optional<std::uint64_t> fetched_records::missing_below(std::uint64_t first) {
  for (auto x = given_up_.begin(); x != given_up_.end() && *x < first; x = given_up_.erase(x))
    under_way_ -= under_way_ > 0 ? 1 : 0; // a feed may have sent what was not asked for
  std::optional<std::uint64_t> missing;
  all_.visit_from(all_.first_place(), [&](std::uint64_t place, const record& x) {
    const auto number = all_.number_at(place);
    if (number < first && x.is_needed && !x.bytes)
      missing = number;
    return number < first && !missing;
  });
  if (missing)
    return missing;
  for (auto x = all_.others().begin(); x != all_.others().end() && x->first < first; ++x)
    if (!x->second.bytes)
      return x->first;
  return std::nullopt;
}

} // namespace leat
