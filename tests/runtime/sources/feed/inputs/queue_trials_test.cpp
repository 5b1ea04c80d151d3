#include "runtime/sources/feed/inputs/queue_trials.hpp"
#include "tests/support/test.hpp"

namespace leat::queue_trials_test {
namespace {

using std::chrono::seconds;

/// A time that a test moves on.
class trial_clock {
public:
  queue_trials::time_point now() const { return now_; }
  void pass(std::chrono::nanoseconds x) {
    now_ += std::chrono::duration_cast<queue_trials::time_point::duration>(x);
  }

private:
  queue_trials::time_point now_{seconds{1000}};
};

TEST_CASE("queue_trials: a server that cannot be reached is given up when patience has ended") {
  trial_clock clock;
  queue_trials x{seconds{60}};
  auto last = x.lost(clock.now());
  CHECK(last.is_first);
  int notices = 0;
  for (int tries = 0; !last.gives_up; ++tries) {
    REQUIRE(tries < 100);
    clock.pass(last.pause);
    const auto next = x.lost(clock.now());
    CHECK_FALSE(next.is_first);
    CHECK_FALSE(next.was_greeted);
    notices += next.is_worth_a_notice ? 1 : 0;
    last = next;
  }
  CHECK(notices == 1);
  CHECK(clock.now().time_since_epoch() == seconds{1060});
}

TEST_CASE("queue_trials: a server that greets and hangs up at once is given up as well") {
  trial_clock clock;
  queue_trials x{seconds{60}};
  std::chrono::nanoseconds longest{0};
  int notices = 0;
  auto last = x.lost(clock.now());
  for (int tries = 0; !last.gives_up; ++tries) {
    REQUIRE(tries < 100);
    clock.pass(last.pause);
    notices += x.greeted(clock.now()) ? 1 : 0;
    longest = std::max(longest, last.pause);
    last = x.lost(clock.now());
    CHECK(last.was_greeted);
  }
  CHECK(notices == 1);
  CHECK(longest == seconds{5});
}

TEST_CASE("queue_trials: what was done on a connection ends its trial, and it is said") {
  trial_clock clock;
  queue_trials x{seconds{60}};
  CHECK_FALSE(x.greeted(clock.now()));
  CHECK_FALSE(x.done());
  const auto first = x.lost(clock.now());
  clock.pass(seconds{50});
  CHECK(x.greeted(clock.now()));
  (void)x.lost(clock.now());
  CHECK_FALSE(x.greeted(clock.now()));
  CHECK(x.done()); // the notice before was in vain
  clock.pass(seconds{50});
  const auto later = x.lost(clock.now());
  CHECK(later.is_first);
  CHECK_FALSE(later.gives_up);
  CHECK(later.pause == first.pause);
}

TEST_CASE("queue_trials: a connection that lasts is one, even if nothing comes by it") {
  trial_clock clock;
  queue_trials x{seconds{60}};
  for (int i = 0; i < 100; ++i) {
    (void)x.greeted(clock.now());
    clock.pass(seconds{30});
    const auto lost = x.lost(clock.now());
    CHECK_FALSE(lost.gives_up);
    CHECK(lost.is_first);
  }
}

} // namespace
} // namespace leat::queue_trials_test
