#include "runtime/cluster/member.hpp"
#include "tests/support/cluster_facts.hpp"
#include "tests/support/test.hpp"

namespace leat::member_test {

// What the simulator does not check: how long a member has been without a word, and whether its own
// failure was received.

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

/// The member of a rank that has taken a seat.
member member_in_seat() {
  auto x = member_of_rank();
  x.on_connected();
  x.on_word(word_with_seat(x, x.take_beat(1s)->number), 1s);
  REQUIRE(x.term() == 1);
  return x;
}

} // namespace

TEST_CASE("time in which the process was stopped is no silence of the coordinator") {
  auto x = member_of_rank();
  x.on_tick(10s);
  x.on_tick(10s + beat / 2);
  CHECK(x.silence() == beat / 2);
  x.on_tick(500s);
  CHECK(x.silence() == beat / 2 + beat);
  x.on_tick(499s); // if the clock goes back, no time has passed
  CHECK(x.silence() == beat / 2 + beat);
  x.on_word({.life = 1}, 501s);
  CHECK(x.silence() == 0s);
}

TEST_CASE("a rank knows how many sets its coordinator keeps") {
  auto x = member_in_seat();
  CHECK(x.keep() == 0); // that one does not say so
  auto word = word_with_seat(x, 1);
  word.keep = 30;
  x.on_word(word, 1s);
  CHECK(x.keep() == 30);
  word.life = 2; // another coordinator
  word.keep = 3;
  x.on_word(word, 1s);
  CHECK(x.keep() == 3);
}

TEST_CASE("a rank says how far it is half way to where it may run") {
  auto x = member_of_rank();
  x.on_connected();
  auto word = word_with_seat(x, x.take_beat(1s)->number);
  word.seat->step_limit = 9;
  x.on_word(word, 1s);
  x.begin({0, 0}, 0);
  const auto told = x.take_beat(1s + beat);
  REQUIRE(told);
  word.echo = told->number;
  x.on_word(word, 1s + beat);
  REQUIRE_FALSE(x.has_news());
  CHECK(x.next_news() == 5);
  x.move_on({{0, 4}, 4});
  CHECK_FALSE(x.has_news());
  x.move_on({{0, 5}, 5});
  CHECK(x.has_news());
  CHECK(x.take_beat(1s + beat)->global_step == 5);
  CHECK(x.next_news() == 7);
}

TEST_CASE("rates are those of a whole beat, and of the seat alone") {
  auto x = member_in_seat();
  const auto rates = [&](member::time now) {
    const auto told = x.take_beat(now);
    REQUIRE(told);
    return std::pair{told->rows_per_second, told->hunger};
  };
  CHECK(rates(2s) == std::pair<std::uint64_t, std::uint64_t>{0, 0});
  x.move_on({.rows = 50, .waited = 25ms});
  CHECK(rates(2s + beat) == std::pair<std::uint64_t, std::uint64_t>{500, 250});
  x.move_on({.rows = 55, .waited = 25ms});
  x.state(0, {.batches = 9}); // worth a beat of its own
  x.on_word({.life = 1, .echo = 3}, 2s + beat);
  CHECK(rates(2s + beat + beat / 2) == std::pair<std::uint64_t, std::uint64_t>{500, 250});
  CHECK(rates(2s + 3 * beat) == std::pair<std::uint64_t, std::uint64_t>{25, 0});
  CHECK(rates(2s + 4 * beat) == std::pair<std::uint64_t, std::uint64_t>{0, 0});
  x.move_on({.rows = 70, .waited = 25ms});
  CHECK(rates(2s + 5 * beat).first == 150);
  x.on_word({.life = 1, .stop = 1}, 2s + 5 * beat); // another term begins
  CHECK(rates(2s + 6 * beat) == std::pair<std::uint64_t, std::uint64_t>{0, 0});
}

TEST_CASE("what feeds have given a rank is in its beats, with rates of a whole beat") {
  auto x = member_in_seat();
  const auto fed = [&](member::time now) {
    const auto told = x.take_beat(now);
    REQUIRE(told);
    REQUIRE(told->fed.size() == 1);
    return told->fed.front();
  };
  x.fed_by({{.name = "queue", .at = "a:1", .records_received = 10}});
  CHECK(fed(2s).records_per_second == 0);
  x.fed_by({{.name = "queue", .at = "a:1", .records_received = 15, .bytes_received = 100}});
  const auto found = fed(2s + beat);
  CHECK(found.at == "a:1");
  CHECK(found.records_received == 15);
  CHECK(found.records_per_second == 50);
  CHECK(found.bytes_per_second == 1000);
}

TEST_CASE("a seat without a lease is counted as long as the process runs") {
  auto x = member_in_seat(); // a lease of 3 s, at 1 s
  x.on_tick(2s);
  x.on_tick(2s + beat);
  CHECK(x.without_lease() == 0s);
  x.on_tick(5s); // stopped meanwhile
  CHECK(x.without_lease() == beat);
  x.on_word(word_with_seat(x, 0), 5s); // answers no beat
  x.on_tick(5s + beat);
  CHECK(x.without_lease() == 2 * beat);
  const auto asked = x.take_beat(5s + beat);
  REQUIRE(asked);
  x.on_word(word_with_seat(x, asked->number), 5s + beat);
  x.on_tick(5s + 2 * beat);
  CHECK(x.without_lease() == 0s);
}

TEST_CASE("a process that is refused hears, too, that another one is rank 0") {
  auto x = member_in_seat();
  CHECK_FALSE(x.is_first_elsewhere());
  x.on_word({.life = 1, .refused = "it differs", .first_elsewhere = true}, 2s);
  CHECK(x.refused() == "it differs");
  CHECK(x.is_first_elsewhere());
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
  auto x = member_in_seat();
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

TEST_CASE("a failure's text is cut so that it fits into a beat, between characters") {
  auto x = member_in_seat();
  std::string text = "x";
  while (text.size() < 200'000)
    text += "\xc3\xa4";
  x.fail(text);
  CHECK(x.failure().size() < 70'000);
  CHECK(x.failure().substr(x.failure().size() - 6) == "\xc3\xa4 ...");
}

TEST_CASE("a member that learns from the state directory that the job is over waits no more") {
  auto late = member_of_rank();
  late.on_over();
  CHECK(late.is_over());

  auto done = member_in_seat();
  done.save({.epoch = 0, .step = 3}, std::make_shared<const std::string>("part"));
  done.finish();
  CHECK_FALSE(done.is_done());
  done.on_over();
  CHECK(done.is_over());
  CHECK(done.is_done()); // what was saved is stored or given up
  CHECK(done.term() == 1);

  auto left_behind = member_in_seat();
  left_behind.on_over();
  CHECK(left_behind.is_over());
  CHECK(left_behind.term() == 0);
}

} // namespace leat::member_test
