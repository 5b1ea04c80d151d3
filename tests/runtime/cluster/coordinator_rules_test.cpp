#include "runtime/cluster/message_codec.hpp"
#include "tests/support/coordinator_cluster.hpp"
#include "tests/support/test.hpp"

namespace leat::coordinator_rules_test {

// Which processes a coordinator believes, and for how long: the first that came, those that have
// gone, and those that belong elsewhere.

using namespace std::chrono_literals;
using cluster = test::coordinator_cluster;
using test::kept_in_memory;

// -- rules belong to the term

TEST_CASE("who comes first and goes again has no say in the job") {
  cluster x{{.world_size = 2}};
  auto wrong = x.hello(9, 0);
  wrong.rules = {.world_size = 3, .comes_back_alone = true};
  const bool leaves = GENERATE(true, false);
  auto& first = x.join(9, wrong);
  x.pass(2s);
  CHECK(first.waits_for() == "1 of 3 ranks are there, not 1, 2");
  if (leaves)
    first.leave();
  x.settle();
  x.lead->on_closed(9);
  x.members.erase(9);
  auto& a = x.join(1, 0);
  x.join(2, 1);
  x.pass(2s);
  CHECK(x.all_sit_in(1));
  CHECK(a.seat().world_size == 2);
  CHECK(x.lead->state().rules == x.rules);
  CHECK(x.lead->status(x.now).rules == x.rules);
  a.begin({0, 0}, 0);
  x.members.at(2).begin({0, 0}, 0);
  x.pass(25s);
  x.silent[2] = true;
  x.pass(12s);
  CHECK(a.term() == 0); // it goes back
}

TEST_CASE(
    "who was silent for long does not count, and is told what differs when it is heard again") {
  cluster x{{.world_size = 1}};
  auto wrong = x.hello(9, 0);
  wrong.rules.world_size = 2;
  auto& first = x.join(9, wrong);
  x.pass(2s);
  x.silent[9] = true;
  x.pass(11s);
  auto& a = x.join(1, 0);
  x.pass(2s);
  CHECK(a.term() == 1);
  x.silent.clear();
  x.pass(2s);
  CHECK(has(first.refused(), "ranks: \"1\" there, \"2\" here"));
  CHECK(a.refused().empty());
}

TEST_CASE("processes with other rules are told so, both of them, before a term has begun") {
  cluster x{{.world_size = 2}};
  auto& a = x.join(1, 0);
  auto other = x.hello(2, 1);
  other.rules = {.world_size = 2, .comes_back_alone = true, .run_ahead = 7};
  auto& b = x.join(2, other);
  x.pass(2s);
  const std::string text = "on_rank_loss: \"back\" there, \"alone, 7 batches ahead\" here";
  CHECK(has(a.refused(), text));
  CHECK(has(b.refused(), text));
}

TEST_CASE("a job that stopped begins again with another number of ranks") {
  const bool lets_come_back = GENERATE(false, true);
  const bool has_new_coordinator = GENERATE(false, true);
  cluster x{{.world_size = 2, .comes_back_alone = lets_come_back}};
  x.join_all();
  REQUIRE(x.all_sit_in(1));
  for (const std::uint64_t process : {1, 2})
    x.lead->on_closed(process);
  x.members.clear();
  if (has_new_coordinator)
    x.begin();
  x.rules.world_size = 3;
  for (std::uint64_t rank = 0; rank < 3; ++rank)
    x.join(rank + 3, rank);
  x.pass(2s);
  CHECK(x.members.at(3).refused().empty());
  x.pass(60s); // until the former ones are lost and their leases have expired
  CHECK(x.all_sit_in(2));
  CHECK(x.members.at(5).seat().world_size == 3);
}

TEST_CASE("a process of another job takes no seat of a running term") {
  cluster x{{.world_size = 2, .comes_back_alone = true}};
  x.join_all();
  auto& b = x.members.at(2);
  x.silent[1] = true;
  b.on_gone({7, 1, 0});
  x.begin(); // a new coordinator, which has not heard from anybody
  x.members.erase(1);
  auto other = x.hello(3, 0);
  other.options = {{"seed", "8"}};
  auto& c = x.join(3, other);
  x.pass(2s);
  CHECK(b.term() == 1);
  CHECK(c.term() == 0);
  CHECK_FALSE(c.refused().empty());
}

TEST_CASE("a process of another job takes no seat of a running term that nobody is left of") {
  const bool has_new_coordinator = GENERATE(false, true);
  cluster x{{.world_size = 1, .comes_back_alone = true}};
  x.join_all();
  REQUIRE(x.all_sit_in(1));
  x.lead->on_closed(1);
  x.members.clear();
  if (has_new_coordinator)
    x.begin();
  auto other = x.hello(3, 0);
  other.options = {{"seed", "8"}};
  auto& c = x.join(3, other);
  c.on_gone({7, 1, 0}); // which frees its place at once
  for (int i = 0; i < 120; ++i) {
    x.pass(500ms);
    CHECK(c.term() != 1);
  }
  CHECK(c.term() == 2); // its own, once the other one is given up
}

TEST_CASE("where sets are kept is said by the ranks that begin") {
  cluster x{{.world_size = 2}};
  x.join(9, 0).want("elsewhere", {});
  x.pass(2s);
  x.lead->on_closed(9);
  x.members.erase(9);
  auto& a = x.join(1, 0);
  auto& b = x.join(2, 1);
  SECTION("alike") {
    x.pass(2s);
    CHECK(x.all_sit_in(1));
    CHECK(x.lead->state().sets == "sets");
  }
  SECTION("not alike") {
    b.want("others", {});
    x.pass(2s);
    CHECK(has(a.refused(), "rank 1: the newest set in others"));
    CHECK(b.refused() == a.refused());
  }
}

// -- who is believed

TEST_CASE("a process that has heard of a coordinator elsewhere ends no job") {
  cluster x{{.world_size = 1}};
  auto& a = x.join(1, 0);
  x.pass(2s);
  const bool differs = GENERATE(false, true);
  auto left_over = x.hello(9, 0);
  if (differs)
    left_over.options = {{"seed", "8"}};
  auto& other = x.join(9, left_over);
  other.on_word({.life = 7}, x.now);
  x.pass(2s);
  CHECK_FALSE(x.lead->has_ended());
  CHECK(a.has_lease(x.now));
  CHECK_FALSE(other.refused().empty());
  x.memory.begin_life();
  other.on_word({.life = 8}, x.now);
  x.pass(1s);
  CHECK(x.lead->is_superseded());
}

TEST_CASE("a member of a term that the state directory does not know is told so") {
  cluster x{{.world_size = 1}};
  auto& a = x.join(1, 0);
  x.pass(2s);
  REQUIRE(a.term() == 1);
  kept_in_memory anew;
  x.lead = std::make_unique<coordinator>(
      x.settings, "secret", anew.begin_life(), anew,
      [](const std::string&) { return std::nullopt; }, x.now);
  x.connect(1);
  x.settle();
  CHECK(has(a.refused(), "term 1"));
}

TEST_CASE("a state directory that is removed ends the job at once") {
  cluster x{{.world_size = 2}};
  x.join_all();
  auto& a = x.members.at(1);
  auto& waiting = x.join(3, 0);
  x.pass(2s);
  x.memory.remove();
  x.pass(500ms);
  CHECK(x.lead->has_ended());
  CHECK(x.lead->has_lost_directory());
  CHECK_FALSE(x.lead->is_superseded());
  CHECK(has(a.failure(), "state directory was removed"));
  CHECK(has(waiting.refused(), "state directory was removed"));
}

TEST_CASE("a coordinator that is replaced says where the newer one is") {
  cluster x{{.world_size = 1}};
  auto& a = x.join(1, 0);
  x.pass(2s);
  x.memory.begin_life("node2:4242");
  x.pass(500ms);
  CHECK(x.lead->is_superseded());
  CHECK(a.moved_to() == "node2:4242");
  CHECK(a.term() == 1);
}

TEST_CASE("a beat that is too long for the coordinator is refused") {
  cluster x{{.world_size = 1}};
  auto hello = x.hello(1, 0);
  hello.beat_ns = 6'000'000'000; // ranks are lost after 10 s
  auto& a = x.join(1, hello);
  x.settle();
  CHECK(has(a.refused(), "a beat of 6 s"));
  hello = x.hello(2, 0);
  hello.beat_ns = 5'000'000'000;
  CHECK(x.join(2, hello).refused().empty());
}

TEST_CASE("a hello alone is compared with nobody, and nobody hears of it") {
  cluster x{{.world_size = 2}};
  auto& a = x.join(1, 0);
  x.pass(2s);
  auto other = x.hello(9, 1);
  other.job = "another";
  other.options = {{"seed", "8"}};
  other.rules.world_size = 3;
  x.lead->on_hello(9, other, x.now);
  CHECK(x.lead->take_output().words.empty());
  x.join(2, 1);
  x.pass(2s);
  CHECK(x.all_sit_in(1));
  CHECK(a.refused().empty());
  CHECK(x.lead->status(x.now).waiting.empty());
  x.lead->on_beat(9, {.number = 1, .who = other.who}, x.now); // which is compared
  CHECK(has(x.lead->take_output().words.at(0).what.refused, "seed: \"not set\" there, \"8\" here"));
  x.pass(70s);
  CHECK(x.lead->processes().all().size() == 2);
}

TEST_CASE("a rank that connects again is not lost before its first beat, nor for ever after") {
  cluster x{{.world_size = 2}};
  x.join_all();
  x.pass(25s);
  x.silent[2] = true;
  x.lead->on_closed(2);
  x.lead->on_hello(102, x.members.at(2).hello(), x.now);
  x.pass(9s);
  CHECK(x.lead->state().phase == job_phase::running);
  x.pass(2s);
  CHECK(x.lead->state().phase == job_phase::forming);
}

/// A rank that sits in term 1 and is refused, since it says that it has heard of a coordinator that
/// nobody knows. It keeps saying so.
struct refused_rank {
  explicit refused_rank(cluster& in) : all(in) {
    all.join_all();
    for (auto& [number, one] : all.members)
      one.begin({0, 0}, 0);
    all.pass(25s);
    all.silent[2] = true;
  }
  cluster_word say(cluster_beat x = {}) {
    x.number = ++number;
    x.who = {7, 2, 0};
    x.life = 9;
    x.term = 1;
    all.lead->on_beat(2, x, all.now);
    cluster_word heard;
    for (auto& word : all.lead->take_output().words)
      if (word.to == 2)
        heard = word.what;
    return heard;
  }

  cluster& all;
  std::uint64_t number = 1000;
};

TEST_CASE("a refused process says nothing that counts, however often it says it") {
  cluster x{{.world_size = 2}};
  refused_rank uut{x};
  auto& a = x.members.at(1);
  a.state(0, {5, true});
  x.settle();
  const auto word = uut.say({.sets = "others",
                             .global_step = 7,
                             .horizons = {{0, {3, true}}},
                             .ends = {{0, 3}},
                             .failure = "a bad sample",
                             .is_done = true,
                             .gone = {{7, 1, 0}}});
  CHECK(has(word.refused, "has heard of coordinator 9"));
  CHECK_FALSE(word.seat);
  CHECK(x.lead->state().phase == job_phase::running);
  CHECK_FALSE(a.known(0).is_final);
  a.finish();
  x.settle();
  CHECK(x.lead->state().phase == job_phase::running); // the other one is not done
  x.lead->tick(x.now);
  CHECK(x.lead->state().reason == "rank 1 is lost"); // at once: it cannot go on
  // Its seat is free when its lease has run out, and no sooner.
  x.join(3, 1);
  for (auto until = x.now + 28s; x.now < until;) {
    uut.say({.is_leaving = true});
    x.pass(500ms);
    CHECK(x.lead->state().term == 1);
  }
  for (auto until = x.now + 5s; x.now < until;) {
    uut.say();
    x.pass(500ms);
  }
  CHECK(x.lead->state().term == 2);
  CHECK(a.term() == 2);
}

TEST_CASE("a refused process adds no part to a set") {
  cluster x{{.world_size = 2}};
  refused_rank uut{x};
  for (auto& [number, one] : x.members)
    one.save({0, 5}, std::make_shared<const std::string>("part"));
  x.lead->on_beat(1, *x.members.at(1).take_beat(x.now + 1s), x.now);
  x.lead->on_beat(2, *x.members.at(2).take_beat(x.now + 1s), x.now);
  x.lead->tick(x.now);
  REQUIRE(x.lead->sets().target() == job_position{0, 5});
  x.lead->take_output();
  const bool is_refused = GENERATE(false, true);
  if (is_refused)
    uut.say();
  x.lead->on_part(2, {.term = 1, .at = {0, 5}, .rank = 1, .total_bytes = 4, .bytes = "part"},
                  x.now);
  CHECK(x.lead->take_output().sets.empty() == is_refused);
}

TEST_CASE("ranks hear how many sets their coordinator keeps") {
  cluster x{{.world_size = 1}};
  auto& a = x.join(1, 0);
  x.pass(2s);
  CHECK(a.keep() == 3);
  CHECK(x.settings.keep == 3);
}

TEST_CASE("a refused process does not keep a coordinator whose job is over") {
  cluster x{{.world_size = 1}};
  auto& a = x.join(1, 0);
  x.pass(2s);
  auto other = x.hello(9, 0);
  other.options = {{"seed", "8"}};
  auto& stays = x.join(9, other);
  a.begin({0, 0}, 0);
  a.finish();
  x.pass(2s);
  REQUIRE(a.is_over());
  CHECK_FALSE(stays.refused().empty());
  x.lead->on_closed(1);
  x.silent[1] = true;
  x.pass(2s);
  CHECK(x.lead->has_ended());
}

// -- how much is kept and sent

TEST_CASE("processes that come and go leave nothing behind") {
  cluster x{{.world_size = 2}};
  x.join_all();
  std::size_t bytes = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    auto hello = x.hello(100 + i, 0);
    if (i % 2 == 0)
      hello.options = {{"seed", "8"}}; // refused
    x.lead->on_hello(100 + i, hello, x.now);
    x.lead->on_beat(100 + i, {.number = 1, .who = hello.who}, x.now);
    for (const auto& one : x.lead->take_output().words)
      bytes = std::max(bytes, encode(one.what).size());
    x.lead->on_closed(100 + i);
  }
  CHECK(x.lead->processes().all().size() == 2);
  CHECK(bytes < 1000);
  x.pass(2s);
  CHECK(x.members.at(1).neighbours().empty());
}

TEST_CASE("processes of one host look at those alone that may have ended, and share them") {
  constexpr std::uint64_t ranks = 64;
  cluster x{{.world_size = ranks}};
  x.join_all();
  REQUIRE(x.all_sit_in(1));
  for (const auto& [number, one] : x.members)
    CHECK(one.neighbours().empty());
  x.lead->on_closed(5);
  x.silent[5] = true;
  x.pass(1s);
  CHECK(x.members.at(1).neighbours().size() == 1);
  CHECK(x.members.at(1).neighbours().front().second.pid == 5);
  x.members.clear();
  x.begin(); // a new coordinator, for which all may have ended
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    x.join(101 + rank, rank);
  x.pass(1500ms);
  std::set<std::uint64_t> looked_at;
  for (const auto& [number, one] : x.members) {
    CHECK(one.neighbours().size() == 16);
    for (const auto& [who, process] : one.neighbours())
      looked_at.insert(process.pid);
  }
  CHECK(looked_at.size() == ranks);
}

} // namespace leat::coordinator_rules_test
