#include "tests/cluster/measured_star.hpp"

#include "runtime/cluster/message_codec.hpp"
#include "tests/support/catch.hpp"

#include <malloc.h>

namespace leat::test {

namespace {

constexpr std::uint64_t ranks_of_a_host = 8;
constexpr cluster_times times_of_star{};
/// What a disk takes, as the model has it, and the end of a file.
constexpr virtual_time::rep disk_ns_per_byte = 2;
constexpr auto file_end = std::chrono::milliseconds{20};

} // namespace

measured_star::measured_star(const wish& how)
    : how_(how), net_(1 + how.ranks), ranks_(how.ranks), lead_(make_coordinator(memory_)) {
  begin_ticks();
}

std::unique_ptr<coordinator> measured_star::make_coordinator(kept_in_memory& memory) const {
  return std::make_unique<coordinator>(
      coordinator_settings{}, "secret", memory.begin_life(), memory,
      [](const std::string&) { return std::nullopt; }, now());
}

cluster_hello measured_star::hello_of_rank(std::uint64_t rank) const {
  auto hello = hello_of(processes_begun_ * how_.ranks + rank + 1, rank);
  hello.rules = how_.rules;
  hello.rules.world_size = how_.ranks;
  hello.process.boot = {rank / ranks_of_a_host, 1};
  hello.pipeline.assign(2000, 'p');
  hello.ends_with_last = how_.ends_with_last;
  return hello;
}

// -- time

void measured_star::begin_ticks() {
  spent_([&] { lead_->tick(now()); });
  send_output();
  net_.in(times_of_star.beat / 2, [this] { begin_ticks(); });
}

void measured_star::tick_rank(std::uint64_t rank, source_id connection) {
  if (ranks_[rank].connection != connection)
    return;
  ranks_[rank].value->on_tick(now());
  speak(rank);
  net_.in(times_of_star.beat / 2, [this, rank, connection] { tick_rank(rank, connection); });
}

double measured_star::until(const std::function<bool()>& is_so) {
  const auto begin = net_.now();
  while (!is_so() && net_.now() < begin + seconds_of(60))
    net_.pass(seconds_of(0.0005));
  REQUIRE(is_so());
  return std::chrono::duration<double>(net_.now() - begin).count();
}

// -- ranks

void measured_star::connect(double within) {
  for (std::uint64_t rank = 0; rank < how_.ranks; ++rank) {
    auto& x = ranks_[rank];
    x.value = std::make_unique<member>(hello_of_rank(rank), times_of_star);
    x.value->want("sets", {});
    x.connection = ++connections_;
    by_connection_[x.connection] = rank;
    net_.in(seconds_of(net_.between(0, within)), [this, rank, connection = x.connection] {
      auto& member = *ranks_[rank].value;
      member.on_connected();
      net_.send(1 + rank, 0, encode(member.hello()).size(),
                [this, connection, hello = member.hello()] {
                  hear(connection, hello, &coordinator::on_hello);
                });
      tick_rank(rank, connection);
    });
  }
  ++processes_begun_;
}

void measured_star::lose_all() {
  for (auto& x : ranks_) {
    spent_([&] { lead_->on_closed(x.connection); });
    by_connection_.erase(x.connection);
    x.connection = 0;
  }
}

void measured_star::each_within(double seconds, const std::function<void(member&)>& does) {
  for (std::uint64_t rank = 0; rank < how_.ranks; ++rank)
    net_.in(seconds_of(net_.between(0, seconds)), [this, rank, does] {
      does(*ranks_[rank].value);
      speak(rank);
    });
}

void measured_star::one(std::uint64_t rank, const std::function<void(member&)>& does) {
  does(*ranks_[rank].value);
  speak(rank);
}

bool measured_star::all(const std::function<bool(const member&)>& are) const {
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& x) { return are(*x.value); });
}

void measured_star::speak(std::uint64_t rank) {
  auto& x = ranks_[rank];
  if (auto beat = x.value->take_beat(now())) {
    x.last = *beat;
    const auto bytes = encode(*beat).size();
    net_.send(1 + rank, 0, bytes, [this, from = x.connection, said = std::move(*beat)] {
      hear(from, said, &coordinator::on_beat);
    });
  }
  if (auto piece = x.value->take_piece()) {
    const auto bytes = encode(*piece).size();
    net_.send(1 + rank, 0, bytes, [this, from = x.connection, said = std::move(*piece)] {
      hear(from, said, &coordinator::on_part);
    });
  }
}

// -- the coordinator

void measured_star::send_output() {
  auto out = spent_([&] { return lead_->take_output(); });
  for (auto& x : out.sets)
    store(x);
  for (auto& x : out.words) {
    const auto found = by_connection_.find(x.to);
    if (found == by_connection_.end())
      continue;
    const auto bytes = encode(x.what).size();
    net_.send(0, 1 + found->second, bytes,
              [this, to = x.to, rank = found->second,
               word = std::make_shared<const cluster_word>(std::move(x.what))] {
                if (ranks_[rank].connection != to)
                  return;
                auto& member = *ranks_[rank].value;
                member.on_word(*word, now());
                for (const auto& [who, process] : member.neighbours())
                  if (process.pid <= (processes_begun_ - 1) * how_.ranks)
                    member.on_gone(who); // it looks whether they live
                speak(rank);
              });
  }
}

void measured_star::store(const set_command& x) {
  switch (x.what) {
  case set_command::kind::begin:
    collected_ = net_.now();
    break;
  case set_command::kind::add:
    disk_ = std::max(disk_, net_.now())
            + virtual_time{disk_ns_per_byte * static_cast<virtual_time::rep>(x.bytes.size())};
    break;
  case set_command::kind::finish:
    net_.at(disk_ + file_end, [this, at = x.at] {
      stored_ = net_.now();
      spent_([&] { lead_->on_stored(at); });
    });
    break;
  case set_command::kind::abandon:
    break;
  }
}

measured_star::costs measured_star::take_costs() {
  costs x{.coordinator = net_.of(0), .rank = net_.busiest_from(1)};
  x.seconds_per_message =
      spent_.take() / static_cast<double>(std::max<std::uint64_t>(1, x.coordinator.messages));
  net_.forget_loads();
  return x;
}

std::size_t measured_star::bytes_of_coordinator() const {
  kept_in_memory memory;
  const auto before = mallinfo2().uordblks;
  auto other = make_coordinator(memory);
  for (std::uint64_t i = 0; i < how_.ranks; ++i) {
    other->on_hello(i + 1, ranks_[i].value->hello(), now());
    other->on_beat(i + 1, {.number = 1, .who = ranks_[i].last.who, .sets = ranks_[i].last.sets},
                   now());
    other->take_output();
  }
  other->tick(now());
  other->take_output();
  REQUIRE(other->state().seats.size() == how_.ranks);
  for (std::uint64_t i = 0; i < how_.ranks; ++i) {
    auto beat = ranks_[i].last;
    beat.life = beat.term = 1;
    other->on_beat(i + 1, beat, now());
    other->take_output();
  }
  return mallinfo2().uordblks - before;
}

} // namespace leat::test
