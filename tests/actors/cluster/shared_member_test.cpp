#include "actors/cluster/shared_member.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_facts.hpp"

namespace leat::shared_member_test {
namespace {

using namespace std::chrono_literals;

cluster_word seat_for(const member& x, std::uint64_t term, std::uint64_t echo) {
  return {.life = 1,
          .echo = echo,
          .term = term,
          .seat = cluster_seat{.holder = x.hello().who, .lease_ns = 3'000'000'000}};
}

/// The next beat, a beat later than the last.
cluster_beat next_beat(shared_member& x, member::time& now, member::time beat) {
  now += beat;
  auto due = x.hear([](member& to, member::time at) { return to.take_beat(at); });
  REQUIRE(due);
  return *due;
}

TEST_CASE("what the trainer notes is said with the next beat, in the seat that it is of") {
  member::time now = 1s;
  const cluster_times times{.beat = 100ms};
  shared_member x{test::hello_of(1, 0), times, [&] { return now; }};
  x.hear([](member& to) { to.on_connected(); });
  const auto hello = next_beat(x, now, times.beat);
  x.hear([&](member& to, member::time at) { to.on_word(seat_for(to, 1, hello.number), at); });
  REQUIRE(x.look(&member::term) == 1);
  const auto let_go = x.look([](const member& of) { return of.hello().who.let_go; });
  x.state([](member& to) { to.begin({0, 0}, 0); });
  const auto version = x.version();
  x.note(1, let_go, {.saves_from = {2, 3}, .global_step = 8, .rows = 50});
  x.note(1, let_go, {.saves_from = {2, 4}, .global_step = 9, .rows = 60});
  CHECK(x.version() == version);
  auto told = next_beat(x, now, times.beat);
  CHECK(told.saves_from == job_position{2, 4});
  CHECK(told.global_step == 9);
  x.note(1, let_go + 1, {.saves_from = {3, 0}, .global_step = 10});
  told = next_beat(x, now, times.beat);
  CHECK(told.global_step == 9);
  x.note(2, let_go, {.saves_from = {3, 0}, .global_step = 10});
  told = next_beat(x, now, times.beat);
  CHECK(told.global_step == 9);
}

} // namespace
} // namespace leat::shared_member_test
