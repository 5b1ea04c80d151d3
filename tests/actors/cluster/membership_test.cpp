#include "actors/cluster/membership.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_facts.hpp"

namespace leat::membership_test {
namespace {

using namespace std::chrono_literals;

cluster_word seat_for(const member& x, std::uint64_t term, std::uint64_t echo) {
  return {.life = 1,
          .echo = echo,
          .term = term,
          .seat = cluster_seat{.holder = x.hello().who, .lease_ns = 3'000'000'000}};
}

/// The next beat, a beat later than the last.
cluster_beat next_beat(membership& x, membership::time& now, membership::time beat) {
  now += beat;
  auto due = x.hear([](member& to, membership::time at) { return to.take_beat(at); });
  REQUIRE(due);
  return *due;
}

TEST_CASE("what the trainer notes is said with the next beat, in the seat that it is of") {
  membership::time now = 1s;
  const cluster_times times{.beat = 100ms};
  membership x{test::hello_of(1, 0), times, [&] { return now; }};
  x.hear([](member& to, membership::time) { to.on_connected(); });
  const auto hello = next_beat(x, now, times.beat);
  x.hear([&](member& to, membership::time at) { to.on_word(seat_for(to, 1, hello.number), at); });
  REQUIRE(x.look([](const member& of, membership::time) { return of.term(); }) == 1);
  const auto let_go =
      x.look([](const member& of, membership::time) { return of.hello().who.let_go; });
  x.state([](member& to) { to.begin({0, 0}, 0); });

  const auto version = x.version();
  x.note({.term = 1, .let_go = let_go, .behind = {2, 3}, .global_step = 8, .rows = 50});
  x.note({.term = 1, .let_go = let_go, .behind = {2, 4}, .global_step = 9, .rows = 60});
  CHECK(x.version() == version);
  auto told = next_beat(x, now, times.beat);
  CHECK(told.behind == job_position{2, 4});
  CHECK(told.global_step == 9);

  x.note({.term = 1, .let_go = let_go + 1, .behind = {3, 0}, .global_step = 10});
  told = next_beat(x, now, times.beat);
  CHECK(told.global_step == 9);
  x.note({.term = 2, .let_go = let_go, .behind = {3, 0}, .global_step = 10});
  told = next_beat(x, now, times.beat);
  CHECK(told.global_step == 9);
}

} // namespace
} // namespace leat::membership_test
