#include "tests/cluster/simulated_feed.hpp"

#include "runtime/sources/live/memory_records.hpp"
#include "tests/cluster/fed_rank.hpp"
#include "tests/support/catch.hpp"

namespace leat::test {

namespace {

const auto feed_beat = seconds_of(0.25);
const auto silent_rank = seconds_of(3);
constexpr std::uint64_t feed_host = 100;

} // namespace

simulated_feed::simulated_feed(feed_world& in, bool is_twin)
    : simulated_process(in.net, feed_host + (is_twin ? 1 : 0)), in_(in), is_twin_(is_twin),
      own_(is_twin ? std::make_unique<memory_records>() : nullptr),
      records_(is_twin ? *own_ : in.open_records()),
      identity_(is_twin ? feed_identity{.stream = {"queue", {77, 77}}}
                        : in.identity_for(records_.next())),
      server_({.stream = identity_.stream,
               .has_journal = in.has_journal(),
               .first = records_.first(),
               .next = records_.next(),
               .has_ended = identity_.ended_at.has_value()},
              {.memory = in.job.memory}),
      ahead_(in.job.ahead, records_.next()) {
  after(feed_beat, [this] { tick(); });
  after(seconds_of(0.001), [this] { read(); });
}

void simulated_feed::read() {
  if (server_.wanted() > 0)
    ahead_.want(server_.wanted() - 1);
  if (!server_.state().has_ended && server_.wanted() > 0 && ahead_.wants_more()) {
    std::uint64_t bytes = 0;
    const auto next = records_.next();
    const bool keeps = in_.has_journal() && !is_twin_;
    auto at = keeps || is_twin_ ? next : in_.source_at;
    for (auto left = 1 + in_.net.below(5); left > 0 && at < in_.job.records; --left, ++at) {
      const auto content = in_.job.content_of(at);
      bytes += content.size();
      records_.append(content);
    }
    if (!is_twin_)
      in_.source_at = at;
    ahead_.came(records_.next(), bytes);
    if (bytes > 0)
      server_.came(records_.next(), bytes);
    if (at == in_.job.records) {
      if (!is_twin_)
        in_.note_end(records_.next());
      server_.ended();
    }
    CHECK(records_.next() <= server_.wanted() + in_.job.ahead.records + 5);
    talk();
  }
  after(seconds_of(in_.net.between(0.0005, 0.004)), [this] { read(); });
}

void simulated_feed::tick() {
  for (const auto& [x, with] : std::map(peers_))
    if (clock() - with.heard > silent_rank) {
      server_.lost(x);
      peers_.erase(x);
      in_.net.close(*this, x);
    }
  after(feed_beat, [this] { tick(); });
}

void simulated_feed::on_closed(connection_id x) {
  server_.lost(x);
  peers_.erase(x);
}

void simulated_feed::on_hello(connection_id from, fed_rank& rank) {
  peers_[from] = {&rank, clock()};
  server_.join(from);
  talk();
}

void simulated_feed::on_sign(connection_id from) {
  const auto found = peers_.find(from);
  if (found == peers_.end())
    return;
  found->second.heard = clock();
  in_.net.send(*this, from, 20, [rank = found->second.rank, from] { rank->on_sign(from); });
}

void simulated_feed::on_want(connection_id from, const std::string& bytes) {
  const auto found = peers_.find(from);
  if (found == peers_.end())
    return;
  found->second.heard = clock();
  const auto want = decode_feed_want(bytes);
  REQUIRE(want);
  REQUIRE(server_.heard(from, *want));
  if (server_.covered() > records_.first()) {
    records_.release_below(server_.covered());
    server_.forgot(records_.first());
  }
  talk();
}

std::string simulated_feed::content_of(std::uint64_t number) const {
  sample room;
  const auto bytes = records_.read(number, room);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void simulated_feed::talk() {
  for (const auto& [x, with] : peers_) {
    if (const auto offer = server_.take_offer(x))
      in_.net.send(*this, x, 80,
                   [rank = with.rank, x = x, bytes = encode(*offer)] { rank->on_offer(x, bytes); });
    std::vector<std::string> contents;
    std::vector<std::uint64_t> numbers;
    for (auto some = server_.take_for(x, 1); !some.is_empty(); some = server_.take_for(x, 1)) {
      numbers.push_back(some.urgent.empty() ? some.others.front() : some.urgent.front());
      contents.push_back(content_of(numbers.back()));
      server_.sent(x, 1, contents.back().size());
    }
    std::vector<feed_record> records;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      records.push_back({numbers[i], contents[i]});
    if (records.empty())
      continue;
    auto bytes = encode(records);
    const auto size = bytes.size();
    in_.net.send(*this, x, size, [rank = with.rank, x = x, bytes = std::move(bytes)] {
      rank->on_records(x, bytes);
    });
  }
}

} // namespace leat::test
