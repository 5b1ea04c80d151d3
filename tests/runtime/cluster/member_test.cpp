#include "runtime/cluster/member.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_facts.hpp"

#include <chrono>

// What the simulator does not see: how long a member has been without a word, and whether its own
// failure was heard.

using namespace leat;
using namespace std::chrono_literals;

namespace {

constexpr member::time beat = 100ms;

member member_of_rank() {
  return member{test::hello_of(1, 0), {.beat = beat}};
}

cluster_word word_with_seat(const member& to, std::uint64_t echo) {
  return {.life = 1,
          .echo = echo,
          .term = 1,
          .seat = cluster_seat{.holder = to.hello().who,
                               .lease_ns = static_cast<std::uint64_t>(member::time{3s}.count())}};
}

} // namespace

TEST_CASE("time in which the process was stopped is no silence of the coordinator") {
  auto x = member_of_rank();
  x.on_tick(10s);
  x.on_tick(10s + beat / 2);
  CHECK(x.silence() == beat / 2);
  x.on_tick(500s);
  CHECK(x.silence() == beat / 2 + beat);
  x.on_tick(499s); // by a clock that goes back nothing has passed
  CHECK(x.silence() == beat / 2 + beat);
  x.on_word({.life = 1}, 501s);
  CHECK(x.silence() == 0s);
}

TEST_CASE(
    "the dead are told to the next coordinator, too, and no more of them than fit in a beat") {
  auto x = member_of_rank();
  for (std::uint64_t i = 0; i < 100; ++i)
    x.on_gone({.high = 9, .low = i});
  x.on_word({.life = 1}, 1s);
  x.on_word({.life = 2}, 2s);
  x.on_word({.life = 2}, 3s);
  const auto told = x.take_beat(4s);
  REQUIRE(told);
  CHECK(told->gone.size() == 64);
  CHECK(told->gone.back().low == 99);
}

TEST_CASE("a failure of its own counts as unheard until a word tells it back") {
  auto x = member_of_rank();
  x.on_connected();
  const auto beat_sent = x.take_beat(1s);
  REQUIRE(beat_sent);
  x.on_word(word_with_seat(x, beat_sent->number), 1s);
  REQUIRE(x.term() == 1);
  CHECK_FALSE(x.has_failed_unheard());
  x.fail("a bad sample");
  CHECK(x.has_failed_unheard());
  x.on_word(word_with_seat(x, 0), 1s);
  CHECK(x.has_failed_unheard());
  auto back = word_with_seat(x, 0);
  back.failure = "rank 0: a bad sample";
  x.on_word(back, 1s);
  CHECK_FALSE(x.has_failed_unheard());
  CHECK(x.failure() == "a bad sample");
}
