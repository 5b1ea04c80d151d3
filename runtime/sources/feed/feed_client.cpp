#include "runtime/sources/feed/feed_client.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// A feed reads ahead of what is wanted, so that it need not hear of each record.
constexpr std::uint64_t records_per_want = 1024;
/// A part of the window that is worth a message.
constexpr std::uint64_t parts_of_window = 4;
/// Records that are asked for and have not come: far fewer than a feed allows, or than a message
/// has room for, and enough to fill any window.
constexpr std::size_t most_under_way = 1 << 16;

} // namespace

std::string text_of_others(const std::string& feed, bool has_journal) {
  return "another process serves feed \"" + feed + "\", from other records"
         + (has_journal ? ": end this one, or begin it with the journal of that feed"
                        : ", without a journal: end this one. If that process has ended, its "
                          "records are lost, and the job has to begin anew");
}

feed_client::feed_client(std::string name, std::uint64_t window, const lanes_of_rank& place)
    : name_(std::move(name)), window_(std::max<std::uint64_t>(1, window)), place_(place),
      records_(place), covered_(place.size(), 0) {}

void feed_client::fail(const std::string& why) {
  if (failure_.empty() && !why.empty())
    failure_ = "feed \"" + name_ + "\": " + why;
}

// -- iterators

live_source::state feed_client::look(std::uint64_t number) {
  looks_below_ = std::max(looks_below_, number + 1);
  if (heard_ && number < heard_->next) {
    relies_below_ = std::max(relies_below_, number + 1);
    return live_source::state::ready;
  }
  return heard_ && heard_->has_ended ? live_source::state::ended : live_source::state::pending;
}

void feed_client::resume(std::uint64_t lowest, std::uint64_t behind) {
  needs_from_ = lowest;
  relies_below_ = std::max(relies_below_, behind);
  looks_below_ = std::max(looks_below_, behind);
  if (heard_) {
    fail(fault_of(*heard_));
    check_needs();
  }
}

void feed_client::cover(std::uint64_t number, std::uint64_t lane) {
  auto& x = covered_[(lane - place_.rank) / place_.world_size];
  x = std::max(x, number);
  records_.drop_below(number, lane);
}

// -- the link

void feed_client::linked() {
  is_linked_ = true;
  has_heard_ = false;
  said_.reset();
  records_.relink();
}

std::string feed_client::refusal_of(const feed_offer& x) const {
  if (x.stream.name != name_)
    return "this is feed \"" + x.stream.name + "\", needed \"" + name_ + '"';
  if (stream_ && stream_->id != x.stream.id && (is_linked_ || stream_->has_journal))
    return text_of_others(name_, stream_->has_journal);
  return {};
}

std::string feed_client::fault_of(const feed_offer& x) const {
  if (stream_ && stream_->id != x.stream.id)
    return "the process that served it has ended, and had no journal: its records are lost";
  if (x.next < relies_below_)
    return "it has " + std::to_string(x.next) + " records, and had at least "
           + std::to_string(relies_below_) + " before: begin it with the journal that it had";
  if (heard_ && heard_->has_ended && (!x.has_ended || x.next != heard_->next))
    return "it had ended after " + std::to_string(heard_->next) + " records, and has "
           + std::to_string(x.next) + " now";
  return x.failure;
}

/// Records that the feed has let go of are not to be had any more.
void feed_client::check_needs() {
  if (!heard_)
    return;
  auto lowest = std::exchange(needs_from_, UINT64_MAX); // later the rank's lanes hold it
  lowest = std::min(lowest, records_.missing_below(heard_->first).value_or(UINT64_MAX));
  if (lowest < heard_->first)
    fail("record " + std::to_string(lowest) + " is needed, and it has only those from "
         + std::to_string(heard_->first)
         + " on: earlier ones were released, which no snapshot that is kept needs");
}

void feed_client::heard(const feed_offer& x) {
  if (const auto fault = fault_of(x); !fault.empty())
    return fail(fault);
  heard_ = x;
  stream_ = {x.stream.id, x.has_journal};
  has_heard_ = true;
  check_needs();
}

bool feed_client::receive(std::uint64_t number, fetched_records::content bytes) {
  if (!is_linked_ || !said_)
    return false;
  const bool is_full = records_.bytes_received() - said_->used >= said_->window;
  if (!records_.may_come(number, is_full))
    return false;
  records_.put(number, std::move(bytes));
  return true;
}

// -- what there is to say

feed_want feed_client::state() const {
  feed_want x;
  x.looks_below = looks_below_;
  x.place = place_;
  x.covered = covered_;
  x.used = records_.bytes_used();
  // What came by earlier links has its place in the window.
  const auto of_others = records_.bytes_held() - (records_.bytes_received() - x.used);
  x.window = window_ - std::min(window_, of_others);
  return x;
}

std::optional<feed_want> feed_client::take_want(bool all) {
  if (!is_linked_)
    return std::nullopt;
  check_needs();
  auto now = state();
  if (has_heard_ && failure_.empty()) {
    now.fetch = records_.take_unasked(heard_->next, most_under_way);
    // The first one does not wait for room: a window that is full of later ones would never have
    // any. Nor does what a worker waits for, which makes no row meanwhile.
    now.urgent = records_.take_urgent(records_.bytes_received() - now.used >= now.window);
  }
  now.is_starved = is_starved_ && !records_.is_waiting();
  if (all ? said_ == now : can_wait(now))
    return std::nullopt;
  said_ = now;
  said_->fetch.clear();
  said_->urgent.clear();
  return now;
}

bool feed_client::can_wait(const feed_want& now) const {
  if (!said_ || !now.fetch.empty() || !now.urgent.empty())
    return false;
  const bool looks_on =
      now.looks_below >= said_->looks_below + records_per_want
      || (now.looks_below > said_->looks_below && (!heard_ || now.looks_below > heard_->next));
  const auto room = now.used + now.window - said_->used - said_->window;
  const bool is_full = records_.bytes_received() - said_->used >= said_->window;
  const bool has_room =
      room > 0 && (room >= window_ / parts_of_window || (is_full && records_.lacks_first()));
  return !looks_on && !has_room && now.is_starved == said_->is_starved;
}

} // namespace leat
