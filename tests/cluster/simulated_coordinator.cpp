#include "tests/cluster/simulated_coordinator.hpp"

#include "tests/cluster/simulated_rank.hpp"

#include <utility>

namespace leat::test {

std::size_t bytes_of(const cluster_word& x) {
  return 200 + 24 * x.horizons.size() + 64 * x.neighbours.size();
}

simulated_coordinator::simulated_coordinator(simulated_cluster& in, std::uint64_t host)
    : simulated_process(in.net, host), in_(in), life_(++in.disk.life),
      memory_(in.disk, life_, !in.with.keeps(rule::terms_are_durable),
              !in.with.keeps(rule::directory_bounds_leases)),
      lead_(
          in.with.settings, "secret", life_, memory_,
          [&in](const std::string&) { return in.disk.newest_set(); }, clock()) {
  in.disk.address = pid();
  memory_.before_write = [this] { in_.before_state_is_written(); };
  after(in_.with.settings.times.beat / 2, [this] { tick(); });
}

void simulated_coordinator::tick() {
  do_or_end([&] { lead_.tick(clock()); });
  if (is_alive())
    after(in_.with.settings.times.beat / 2, [this] { tick(); });
}

void simulated_coordinator::on_hello(connection_id from, const cluster_hello& x) {
  do_or_end([&] { lead_.on_hello(from, x, clock()); });
}

void simulated_coordinator::on_beat(connection_id from, cluster_beat x) {
  if (x.life <= life_)
    in_.check.knows_term(x.term, lead_.state().term);
  alter(x);
  do_or_end([&] { lead_.on_beat(from, x, clock()); });
}

void simulated_coordinator::on_part(connection_id from, const cluster_part& x) {
  do_or_end([&] { lead_.on_part(from, x, clock()); });
}

void simulated_coordinator::on_closed(connection_id x) {
  lead_.on_closed(x);
  do_all();
}

void simulated_coordinator::alter(cluster_beat& x) const {
  if (in_.with.keeps(rule::silence_frees_no_seat))
    return;
  for (const auto& [connection, other] : lead_.processes().all())
    if (clock() - other.heard > 4 * in_.with.settings.times.beat)
      x.gone.push_back(other.beat.who);
}

void simulated_coordinator::do_all() {
  auto out = lead_.take_output();
  for (const auto& line : out.log)
    in_.note("coordinator " + std::to_string(pid()) + ": " + line);
  for (const auto& x : out.sets)
    do_with_set(x);
  for (auto& x : out.words) {
    if (!in_.with.keeps(rule::returns_at_newest_set) && x.what.seat) {
      x.what.seat->start = lead_.state().start;
      x.what.seat->start_is_of_term = false;
    }
    auto* to = in_.net.other_end(*this, x.to);
    const auto bytes = bytes_of(x.what);
    in_.net.send(*this, x.to, bytes,
                 [to, word = std::make_shared<const cluster_word>(std::move(x.what))] {
                   static_cast<simulated_rank*>(to)->on_word(*word);
                 });
  }
  if (lead_.has_ended())
    exit();
}

// -- sets

void simulated_coordinator::do_with_set(const set_command& x) {
  static const char* const names[] = {"begin", "add", "finish", "abandon"};
  in_.note("set " + text_of(x.at) + ": " + names[static_cast<int>(x.what)] + " "
           + std::to_string(x.rank));
  const auto& with = in_.with;
  const bool mixes_lives = !with.keeps(rule::parts_go_with_their_life);
  const bool mixes_terms = !with.keeps(rule::sets_are_of_one_term);
  switch (x.what) {
  case set_command::kind::begin:
    if (mixes_lives)
      std::erase_if(parts_, [&](const auto& one) { return one.first != x.at; });
    else if (!mixes_terms)
      parts_.erase(x.at);
    break;
  case set_command::kind::add:
    parts_[x.at].try_emplace(x.rank, x.bytes);
    if (!mixes_terms)
      check_parts(x.world_size);
    break;
  case set_command::kind::abandon:
    if (with.keeps(rule::one_set_at_a_time) && !mixes_terms && !mixes_lives)
      parts_.erase(x.at);
    break;
  case set_command::kind::finish:
    if (!in_.with.keeps(rule::sets_are_whole))
      parts_[x.at].erase(in_.net.below(x.world_size));
    after(seconds_of(in_.net.between(0.001, 0.2)),
          [this, at = x.at, term = lead_.state().term, parts = std::move(parts_[x.at])] {
            finish_set(at, term, parts);
          });
    parts_.erase(x.at);
    break;
  }
}

void simulated_coordinator::check_parts(std::uint64_t world_size) const {
  std::size_t number = 0;
  for (const auto& [at, parts] : parts_)
    number += parts.size();
  in_.check.at_most("parts at the coordinator", number, world_size);
}

void simulated_coordinator::finish_set(const job_position& at, std::uint64_t term,
                                       const std::map<std::uint64_t, std::string>& parts) {
  do_or_end([&] { end_set(at, term, parts); });
}

void simulated_coordinator::end_set(const job_position& at, std::uint64_t term,
                                    const std::map<std::uint64_t, std::string>& parts) {
  if (memory_.newest_life() != life_)
    return exit();
  if (in_.disk.is_full) {
    in_.check.not_stored(at);
    lead_.on_not_stored(at, "the disk is full");
  } else {
    in_.disk.keep(at, in_.check.stored(at, term, parts));
    lead_.on_stored(at);
  }
}

} // namespace leat::test
