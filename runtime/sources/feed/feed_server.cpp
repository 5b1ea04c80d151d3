#include "runtime/sources/feed/feed_server.hpp"

#include <algorithm>
#include <utility>

namespace leat {

feed_server::feed_server(feed_offer own, const feed_server_settings& settings)
    : own_(std::move(own)), settings_(settings) {}

// -- the source

void feed_server::came(std::uint64_t next, std::uint64_t bytes) {
  if (!own_.has_journal) {
    // Without a new record, the bytes are part of the next one.
    kept_.push_back({next > own_.next ? next - 1 : own_.next, bytes});
    bytes_kept_ += bytes;
  }
  ranks_.came(own_.next, next);
  own_.next = next;
}

void feed_server::ended() {
  own_.has_ended = true;
  ranks_.have_news();
}

void feed_server::failed(const std::string& why) {
  if (own_.failure.empty())
    own_.failure = why;
}

void feed_server::forgot(std::uint64_t first) {
  own_.first = std::max(own_.first, first);
  for (; !kept_.empty() && kept_.front().record < own_.first; kept_.pop_front())
    bytes_kept_ -= kept_.front().bytes;
  if (!is_full())
    wanted_ = looks_below_;
}

std::string feed_server::held_back() const {
  if (!is_full() || own_.has_ended || ranks_.starved_below() <= own_.next)
    return {};
  return "a rank waits for record " + std::to_string(own_.next) + ", and "
         + std::to_string(bytes_kept_) + " bytes of records from " + std::to_string(own_.first)
         + " on are kept for lane " + std::to_string(released_.slowest_lane()) + " of "
         + std::to_string(lanes_) + ": if it lasts, give the feed a journal, or more memory";
}

// -- links

void feed_server::join(std::uint64_t link) {
  ranks_.join(link);
}

void feed_server::lost(std::uint64_t link) {
  ranks_.lost(link);
}

bool feed_server::heard(std::uint64_t link, const feed_want& x) {
  if (!ranks_.find(link))
    return true; // it was lost, and this was under way
  if (!ranks_.hear(link, x, own_))
    return false;
  looks_below_ = std::max(looks_below_, x.looks_below);
  if (!is_full())
    wanted_ = looks_below_;
  cover(x);
  return true;
}

void feed_server::cover(const feed_want& x) {
  lanes_ = x.place.lanes;
  auto lane = x.place.rank;
  for (const auto number : x.covered) {
    released_.release_below(number, lane, lanes_);
    lane += x.place.world_size;
  }
  covered_ = std::min(std::max(covered_, released_.lowest()), own_.next);
}

std::optional<feed_offer> feed_server::take_offer(std::uint64_t link, bool all) {
  auto* rank = ranks_.find(link);
  return rank ? rank->take_offer(own_, all) : std::nullopt;
}

served_rank::portion feed_server::take_for(std::uint64_t link, std::size_t most) {
  auto* rank = ranks_.find(link);
  return rank ? rank->take(own_, most) : served_rank::portion{};
}

void feed_server::sent(std::uint64_t link, std::uint64_t records, std::uint64_t bytes,
                       const served_rank::portion& left) {
  own_.costs.records_sent += records;
  own_.costs.bytes_sent += bytes;
  if (auto* rank = ranks_.find(link)) {
    rank->sent(bytes);
    rank->give_back(left);
  }
}

void feed_server::released(std::uint64_t link, std::uint64_t first) {
  forgot(first);
  if (auto* rank = ranks_.find(link))
    rank->lacks();
}

void feed_server::spent(std::chrono::nanoseconds reading,
                        std::chrono::nanoseconds sending) noexcept {
  own_.costs.reading_ns += static_cast<std::uint64_t>(reading.count());
  own_.costs.sending_ns += static_cast<std::uint64_t>(sending.count());
}

} // namespace leat
