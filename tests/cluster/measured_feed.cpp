#include "tests/cluster/measured_feed.hpp"

#include "tests/support/catch.hpp"

#include <malloc.h>

namespace leat::test {

namespace {

constexpr std::size_t bytes_of_sign = 20;
constexpr std::uint64_t window_of_rank = 1 << 20;
constexpr std::uint64_t feed_memory = std::uint64_t{1} << 40;

} // namespace

measured_feed::measured_feed(const wish& how)
    : how_(how), net_(1 + how.ranks),
      none_({.version = "1", .stream = {"queue", {1, 2}}, .has_journal = true}),
      server_(none_, {.memory = feed_memory}), ranks_(how.ranks) {
  for (std::uint64_t rank = 0; rank < how_.ranks; ++rank) {
    auto& x = ranks_[rank];
    x.value = std::make_unique<feed_client>("queue", window_of_rank, place_of(rank));
    for (std::uint64_t i = 0; i < how_.lanes_per_rank; ++i)
      x.looks_at.push_back(rank + i * how_.ranks);
  }
}

lanes_of_rank measured_feed::place_of(std::uint64_t rank) const {
  return {how_.ranks * how_.lanes_per_rank, how_.ranks, rank};
}

void measured_feed::connect(double within) {
  for (std::uint64_t rank = 0; rank < how_.ranks; ++rank)
    net_.in(seconds_of(net_.between(0, within)), [this, rank] {
      spent_([&] { server_.join(rank + 1); });
      talk(rank);
      tick(rank);
    });
  net_.in(seconds_of(within), [this] { read(); });
}

// -- the feed

void measured_feed::read() {
  if (has_ended_)
    return;
  came_at_.push_back(net_.now());
  const auto told = spent_([&] {
    server_.came(came_at_.size(), how_.record_bytes);
    return server_.take_news();
  });
  for (const auto link : told)
    talk(link - 1);
  const auto rate = how_.records_per_second * static_cast<double>(how_.ranks);
  net_.in(seconds_of(net_.between(0.5, 1.5) / rate), [this] { read(); });
}

void measured_feed::talk(std::uint64_t rank) {
  const auto link = rank + 1;
  if (const auto offer = spent_([&] { return server_.take_offer(link); }))
    net_.send(0, link, encode(*offer).size(), [this, rank, x = *offer] { hear(rank, x); });
  std::vector<std::uint64_t> numbers;
  spent_([&] {
    for (;;) {
      const auto some = server_.take_for(link, 1);
      if (some.is_empty())
        return;
      numbers.push_back(some.urgent.empty() ? some.others.front() : some.urgent.front());
      server_.sent(link, 1, how_.record_bytes);
    }
  });
  if (!numbers.empty())
    net_.send(0, link, numbers.size() * (how_.record_bytes + 16),
              [this, rank, numbers] { receive(rank, numbers); });
}

double measured_feed::end_source() {
  has_ended_ = true;
  const auto begin = net_.now();
  server_.ended();
  for (const auto link : server_.take_news())
    talk(link - 1);
  const auto knows = [](const auto& x) { return x.value->offer()->has_ended; };
  while (!std::all_of(ranks_.begin(), ranks_.end(), knows) && net_.now() < begin + seconds_of(60))
    run(0.001);
  REQUIRE(std::all_of(ranks_.begin(), ranks_.end(), knows));
  return std::chrono::duration<double>(net_.now() - begin).count();
}

// -- ranks

/// Each side shows once per second that it is there.
void measured_feed::tick(std::uint64_t rank) {
  const auto sign = spent_([&] { return server_.take_offer(rank + 1, true); });
  net_.send(0, rank + 1, encode(*sign).size(), [this, rank, x = *sign] { hear(rank, x); });
  net_.send(rank + 1, 0, bytes_of_sign, [] {});
  say(rank, true);
  net_.in(seconds_of(1), [this, rank] { tick(rank); });
}

void measured_feed::hear(std::uint64_t rank, const feed_offer& x) {
  auto& to = ranks_[rank];
  if (!std::exchange(to.is_linked, true))
    to.value->linked();
  to.value->heard(x);
  look(rank);
  say(rank, false);
}

void measured_feed::look(std::uint64_t rank) {
  auto& x = ranks_[rank];
  for (auto& number : x.looks_at)
    while (x.value->look(number) == live_source::state::ready) {
      x.value->records().need(number);
      x.open.push_back(number);
      number += how_.ranks * how_.lanes_per_rank;
    }
}

void measured_feed::say(std::uint64_t rank, bool all) {
  auto& x = ranks_[rank];
  while (auto want = x.value->take_want(all)) {
    x.last = *want;
    net_.send(rank + 1, 0, encode(*want).size(), [this, rank, said = std::move(*want)] {
      REQUIRE(spent_([&] { return server_.heard(rank + 1, said); }));
      talk(rank);
    });
  }
}

void measured_feed::receive(std::uint64_t rank, const std::vector<std::uint64_t>& numbers) {
  auto& x = ranks_[rank];
  const std::string content(how_.record_bytes, 'r');
  for (const auto number : numbers)
    REQUIRE(x.value->receive(number, fetched_records::kept(content, nullptr)));
  while (!x.open.empty() && x.value->records().find(x.open.front())) {
    const auto number = x.open.front();
    x.open.pop_front();
    x.value->records().drop(number);
    const auto lanes = how_.ranks * how_.lanes_per_rank;
    x.value->cover(number + lanes, number % lanes);
    longest_ = std::max(longest_, net_.now() - came_at_[number]);
    ++trained_;
  }
  look(rank);
  say(rank, false);
}

// -- figures

measured_feed::costs measured_feed::take_costs() {
  costs x{.feed = net_.of(0),
          .rank = net_.busiest_from(1),
          .records = came() - std::exchange(read_before_, came()),
          .longest_s = std::chrono::duration<double>(std::exchange(longest_, {})).count()};
  x.seconds_per_message =
      spent_.take() / static_cast<double>(std::max<std::uint64_t>(1, x.feed.messages));
  net_.forget_loads();
  return x;
}

std::size_t measured_feed::bytes_of_server() const {
  const auto before = mallinfo2().uordblks;
  auto other = std::make_unique<feed_server>(server_.state());
  for (std::uint64_t rank = 0; rank < how_.ranks; ++rank) {
    other->join(rank + 1);
    other->take_offer(rank + 1);
    auto want = ranks_[rank].last;
    want.used = 0;
    want.fetch.clear();
    want.urgent.clear();
    REQUIRE(other->heard(rank + 1, want));
  }
  return mallinfo2().uordblks - before;
}

} // namespace leat::test
