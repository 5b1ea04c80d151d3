#include "runtime/children/dealt_calls.hpp"
#include "tests/support/random_faults.hpp"
#include "tests/support/test.hpp"

#include <csignal>

namespace leat::dealt_calls_test {
namespace {

child_exit by_signal(int number, bool memory_ran_out = false) {
  return {child_exit::kind::signalled, number, memory_ran_out};
}

// LEAT_SIMULATION_SEEDS: how many storms (1000).
// LEAT_SIMULATION_SEED:  seed of the first (1).

/// What a call does to its process.
enum class habit { good, crashes, damages };

/// Processes that make calls, in a world where processes are lost at random.
class simulation {
public:
  explicit simulation(std::uint64_t seed) : chance_(seed) {
    storm_ = std::array{0.0, 0.02, 0.1, 0.5}[chance_() % 4];
    calls_.resize(1 + chance_() % 120);
    for (auto& x : calls_)
      x = std::array{habit::crashes, habit::damages, habit::good,
                     habit::good}[std::min<std::size_t>(chance_() % 24, 3)];
    processes_.resize(1 + chance_() % 6);
    left_.emplace(calls_.size(), processes_.size());
  }

  void run() {
    while (deal() || is_any_busy())
      finish_one();
  }

  std::vector<habit> calls_;
  std::set<std::size_t> done_;
  std::set<std::size_t> killed_;
  std::set<std::size_t> lost_;
  double storm_ = 0;
  std::size_t times_made_ = 0;

private:
  struct process {
    std::optional<dealt_part> part = {};
    bool is_damaged = false;
    bool has_begun = false;
    bool is_used = false;
  };

  bool happens(double how_often) { return std::uniform_real_distribution<>{}(chance_) < how_often; }

  bool is_any_busy() const {
    return std::any_of(processes_.begin(), processes_.end(), [](auto& x) { return !!x.part; });
  }

  bool deal() {
    bool any = false;
    for (auto& x : processes_) {
      if (x.part || !left_->has_next() || happens(0.3))
        continue;
      x.part = left_->next();
      REQUIRE(x.part->size() > 0);
      if (x.part->needs_new_process && x.is_used)
        x = {.part = x.part};
      any = true;
    }
    return any || left_->has_next();
  }

  void finish_one() {
    auto& x = processes_[chance_() % processes_.size()];
    if (!x.part)
      return;
    const auto part = *x.part;
    const auto how = end_of(x, part);
    if (!how) {
      for (auto call = part.first; call < part.end; ++call)
        REQUIRE(done_.insert(call).second);
      x.part.reset();
      return;
    }
    const bool had_begun = x.has_begun;
    x = {};
    if (const auto verdict = left_->ended(part, *how, had_begun)) {
      REQUIRE(verdict->call >= part.first);
      REQUIRE(verdict->call < part.end);
      auto& to = verdict->what == call_verdict::kind::killed ? killed_ : lost_;
      REQUIRE(to.insert(verdict->call).second);
      // The others of a part that was never made: a caller drops them, with all else.
      for (auto call = part.first; call < part.end; ++call)
        if (call != verdict->call)
          lost_.insert(call);
    }
  }

  /// How the process ended over its part; nothing if it made it.
  std::optional<child_exit> end_of(process& x, const dealt_part& part) {
    ++times_made_;
    if (happens(storm_))
      return by_signal(happens(0.5) ? SIGKILL : SIGTERM);
    x.has_begun = true;
    for (auto call = part.first; call < part.end; ++call) {
      if (happens(storm_ / 8))
        return happens(0.5) ? by_signal(SIGKILL) : child_exit{};
      x.is_used = true;
      if (calls_[call] == habit::crashes || (x.is_damaged && happens(0.5)))
        return by_signal(happens(0.5) ? SIGSEGV : SIGABRT);
      x.is_damaged = x.is_damaged || calls_[call] == habit::damages;
    }
    return std::nullopt;
  }

  std::mt19937_64 chance_;
  std::optional<dealt_calls> left_;
  std::vector<process> processes_;
};

TEST_CASE(
    "dealt_calls: calls that crash are convicted, and no other, whatever storms end processes "
    "and whatever damages them") {
  std::size_t convicted = 0;
  std::size_t spared = 0;
  const auto storms = test::number_in("LEAT_SIMULATION_SEEDS", 1000);
  const auto first = test::number_in("LEAT_SIMULATION_SEED", 1);
  for (std::uint64_t seed = first; seed < first + storms; ++seed) {
    CAPTURE(seed);
    simulation x{seed};
    x.run();
    for (std::size_t call = 0; call < x.calls_.size(); ++call) {
      CAPTURE(call);
      const bool crashes = x.calls_[call] == habit::crashes;
      if (x.storm_ <= 0.1)
        REQUIRE_FALSE(x.lost_.contains(call));
      if (!x.lost_.contains(call)) {
        REQUIRE(x.killed_.contains(call) == crashes);
        REQUIRE(x.done_.contains(call) != crashes);
      } else {
        REQUIRE_FALSE(x.done_.contains(call));
      }
      REQUIRE((crashes || !x.killed_.contains(call)));
    }
    convicted += x.killed_.size();
    spared += x.done_.size();
    REQUIRE(x.times_made_ <= x.calls_.size() * (2U + dealt_calls::most_losses));
  }
  if (storms < 100) // too few for that
    return;
  REQUIRE(convicted > storms);
  REQUIRE(spared > 10 * convicted);
}

TEST_CASE("dealt_calls: parts get smaller, so that processes finish at about the same time") {
  dealt_calls x{64, 2};
  std::vector<std::size_t> sizes;
  std::size_t next = 0;
  while (const auto part = x.next()) {
    REQUIRE(part->first == next);
    REQUIRE_FALSE(part->needs_new_process);
    next = part->end;
    sizes.push_back(part->size());
  }
  REQUIRE(next == 64);
  REQUIRE(sizes.front() == 16);
  REQUIRE(std::is_sorted(sizes.rbegin(), sizes.rend()));
  REQUIRE(sizes.back() == 1);
  REQUIRE_FALSE(dealt_calls(0, 3).next());
}

TEST_CASE("dealt_calls: the second fault that happens in a new process, alone, is the proof") {
  dealt_calls x{1, 1};
  auto part = *x.next();
  REQUIRE_FALSE(part.needs_new_process);
  REQUIRE_FALSE(x.ended(part, by_signal(SIGSEGV), true));
  part = *x.next();
  REQUIRE(part.needs_new_process);
  const auto verdict = x.ended(part, {child_exit::kind::exited, 3}, true);
  REQUIRE(verdict->what == call_verdict::kind::killed);
  REQUIRE(verdict->call == 0);
  REQUIRE(to_string(verdict->how) == "exit code 3");
  REQUIRE_FALSE(x.next());
}

TEST_CASE("dealt_calls: what ends processes from outside is given up after a while, and convicts "
          "nobody") {
  for (const auto& how :
       {by_signal(SIGKILL), by_signal(SIGTERM), by_signal(SIGHUP), child_exit{}}) {
    for (const bool had_begun : {false, true}) {
      dealt_calls x{1, 1};
      for (int i = 1; i < dealt_calls::most_losses; ++i)
        REQUIRE_FALSE(x.ended(*x.next(), how, had_begun));
      REQUIRE(x.ended(*x.next(), how, had_begun)->what == call_verdict::kind::lost);
    }
  }
}

TEST_CASE("dealt_calls: a lack of memory is not the sample's fault, however often it is met") {
  dealt_calls x{1, 1};
  REQUIRE_FALSE(x.ended(*x.next(), by_signal(SIGKILL, true), true));
  REQUIRE(x.ended(*x.next(), by_signal(SIGKILL, true), true)->what
          == call_verdict::kind::no_memory);
}

TEST_CASE("dealt_calls: a process that ends before it can make calls says nothing about them") {
  dealt_calls x{8, 1};
  const auto part = *x.next();
  REQUIRE(part.size() == 4);
  REQUIRE_FALSE(x.ended(part, by_signal(SIGSEGV), false));
  REQUIRE(x.next()->size() == 4);
  REQUIRE_FALSE(x.ended(part, by_signal(SIGSEGV), true));
  dealt_calls alone{1, 1};
  for (int i = 1; i < dealt_calls::most_losses; ++i)
    REQUIRE_FALSE(alone.ended(*alone.next(), by_signal(SIGSEGV), false));
  for (std::size_t i = 0; i < 4; ++i) {
    const auto single = *x.next();
    REQUIRE(single.first == i);
    REQUIRE(single.size() == 1);
    REQUIRE(single.faults == 0);
  }
}

TEST_CASE("dealt_calls: what is dropped is not dealt") {
  dealt_calls x{8, 1};
  (void)x.next();
  x.drop();
  REQUIRE_FALSE(x.has_next());
  REQUIRE_FALSE(x.next());
}

TEST_CASE("child_exit: what a signal means depends on who sends it") {
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS})
    REQUIRE(meaning_of(by_signal(fault)) == end_of_child::fault);
  for (const int other : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1})
    REQUIRE(meaning_of(by_signal(other, true)) == end_of_child::lost);
  REQUIRE(meaning_of(by_signal(SIGKILL, false)) == end_of_child::lost);
  REQUIRE(meaning_of(by_signal(SIGKILL, true)) == end_of_child::out_of_memory);
  REQUIRE(meaning_of({child_exit::kind::exited, 0, true}) == end_of_child::fault);
  REQUIRE(meaning_of({child_exit::kind::hung_up, 0, true}) == end_of_child::fault);
  REQUIRE(to_string(by_signal(SIGSEGV)) == "signal 11 (Segmentation fault)");
}

} // namespace
} // namespace leat::dealt_calls_test
