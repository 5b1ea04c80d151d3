#include "runtime/cluster/message_codec.hpp"
#include "tests/support/coordinator_cluster.hpp"
#include "tests/support/test.hpp"

#include <deque>
#include <functional>

namespace leat::coordinator_traffic_test {

// What a coordinator says to many processes of one host, message by message: whatever they do one
// after the other, and however it is interleaved with the beats of the others, the words are a few
// per process, and never one for each of the others.

using namespace std::chrono_literals;
using test::hello_of;
using test::kept_in_memory;

namespace {

/// Processes of one host and a coordinator; each message is answered before the next one comes.
class busy_host {
public:
  explicit busy_host(const job_rules& rules) : rules_(rules) { begin(); }

  /// Another coordinator, to which all connect again.
  void begin() {
    lead_ = std::make_unique<coordinator>(
        settings_, "secret", memory_.begin_life(), memory_,
        [](const std::string&) { return std::nullopt; }, now_);
    for (const auto process : all())
      connect(process);
  }
  member& join(std::uint64_t process, std::uint64_t rank, const char* seed = "7",
               const char* sets = "sets") {
    auto hello = hello_of(process, rank);
    hello.rules = rules_;
    hello.options = {{"seed", seed}};
    auto& x = members_.try_emplace(process, hello, settings_.times).first->second;
    x.want(sets, {});
    connect(process);
    return x;
  }
  /// Processes 1, 2, ... as ranks 0, 1, ...
  void join_all() {
    for (std::uint64_t rank = 0; rank < rules_.world_size; ++rank)
      join(rank + 1, rank);
  }
  void close(std::uint64_t process) {
    members_.erase(process);
    lead_->on_closed(process);
    deliver();
  }
  /// The process sends a beat, if one is due.
  void speak(std::uint64_t process) {
    take_beat(process);
    deliver();
  }
  void wait(std::chrono::nanoseconds time) { now_ += time; }
  void tick() {
    lead_->tick(now_);
    deliver();
  }
  void pass(std::chrono::nanoseconds time) {
    for (const auto end = now_ + time; now_ < end;) {
      wait(500ms);
      tick();
      for (const auto process : all())
        speak(process);
    }
  }
  std::vector<std::uint64_t> all() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [process, x] : members_)
      numbers.push_back(process);
    return numbers;
  }
  member& at(std::uint64_t process) { return members_.at(process); }
  std::uint64_t looking_for(std::uint64_t process) const {
    std::uint64_t lookers = 0;
    for (const auto& [number, x] : members_)
      for (const auto& [who, identity] : x.neighbours())
        lookers += identity.pid == process ? 1 : 0;
    return lookers;
  }

  struct counts {
    std::uint64_t beats = 0;
    std::uint64_t words = 0;
    std::uint64_t bytes = 0;
  };
  /// Since the last call.
  counts take_counts() { return std::exchange(counts_, {}); }

private:
  void connect(std::uint64_t process) {
    members_.at(process).on_connected();
    lead_->on_hello(process, members_.at(process).hello(), now_);
    speak(process);
  }
  void take_beat(std::uint64_t process) {
    if (auto beat = members_.at(process).take_beat(now_)) {
      ++counts_.beats;
      lead_->on_beat(process, *beat, now_);
    }
  }
  /// In the order in which they were said. Whoever hears something may have something to say.
  void deliver() {
    for (;;) {
      for (auto& x : lead_->take_output().words)
        under_way_.push_back(std::move(x));
      if (under_way_.empty())
        return;
      const auto x = std::move(under_way_.front());
      under_way_.pop_front();
      ++counts_.words;
      counts_.bytes += encode(x.what).size();
      const auto to = members_.find(x.to);
      if (to == members_.end())
        continue;
      to->second.on_word(x.what, now_);
      take_beat(x.to);
    }
  }

  job_rules rules_;
  coordinator_settings settings_;
  kept_in_memory memory_;
  std::chrono::nanoseconds now_ = 100s;
  std::map<std::uint64_t, member> members_;
  std::deque<coordinator_output::addressed> under_way_;
  std::unique_ptr<coordinator> lead_;
  counts counts_;
};

/// In all tests: it takes no longer for many than for few.
std::uint64_t some_processes() {
  return GENERATE(as<std::uint64_t>{}, 8, 64, 512);
}

/// All hold seats, have begun, and have been heard for long.
void settle_in(busy_host& x) {
  x.join_all();
  x.pass(2s);
  for (const auto process : x.all())
    x.at(process).begin({0, 0}, 0);
  x.pass(25s);
  for (const auto process : x.all())
    REQUIRE(x.at(process).term() == 1);
  x.take_counts();
}

} // namespace

TEST_CASE("traffic: processes that join and then train hear one word for each of their beats") {
  const auto n = some_processes();
  busy_host x{{.world_size = n}};
  x.join_all();
  const auto joined = x.take_counts();
  CHECK(joined.beats == n);
  CHECK(joined.words == n);
  CHECK(joined.bytes < 150 * n);
  x.pass(2s); // the term begins
  const auto begun = x.take_counts();
  CHECK(begun.words <= begun.beats + n);
  CHECK(begun.words <= 4 * n);
  CHECK(begun.bytes < 600 * n);
  for (const auto process : x.all())
    x.at(process).begin({0, 0}, 0);
  x.pass(2s);
  x.take_counts();
  x.pass(10s);
  const auto at_rest = x.take_counts();
  CHECK(at_rest.beats == 10 * n);
  CHECK(at_rest.words == 10 * n);
  CHECK(at_rest.bytes < 10 * 100 * n);
  x.begin(); // another coordinator
  CHECK(x.take_counts().words == n);
}

TEST_CASE("traffic: processes that end one after the other are no news for all the others") {
  const auto n = some_processes();
  busy_host x{{.world_size = n}};
  settle_in(x);
  for (const auto process : x.all()) {
    x.close(process);
    x.wait(2ms);
    if (const auto rest = x.all(); !rest.empty()) {
      x.at(rest[process % rest.size()]).on_gone({9, 9, process}); // it has something to say
      x.speak(rest[process % rest.size()]);
    }
  }
  const auto ended = x.take_counts();
  CHECK(ended.beats <= 2 * n);
  CHECK(ended.words <= 2 * n);
  for (std::uint64_t rank = 0; rank < n; ++rank) // they come back
    x.join(n + rank + 1, rank);
  x.pass(3s);
  const auto back = x.take_counts();
  CHECK(back.words <= back.beats + 2 * n);
  CHECK(back.bytes < 5 * 1500 * n);
}

TEST_CASE("traffic: one that has ended is looked for by two at once, and then by all") {
  const auto n = some_processes();
  busy_host x{{.world_size = n}};
  settle_in(x);
  x.close(5);
  x.wait(1ms);
  x.tick();
  CHECK(x.take_counts().words == 2);
  CHECK(x.looking_for(5) == 2);
  x.pass(1s);
  CHECK(x.looking_for(5) == n - 1);
  x.take_counts();
  x.at(8).on_gone({7, 5, 0});
  x.speak(8);
  x.pass(1s);
  CHECK(x.looking_for(5) == 0);
  x.pass(3s); // all go back
  CHECK(x.take_counts().words <= 8 * n);
  CHECK(x.at(1).term() == 0);
}

TEST_CASE("traffic: a job that is over is left without a word to those that stay") {
  const auto n = some_processes();
  busy_host x{{.world_size = n}};
  settle_in(x);
  for (const auto process : x.all()) {
    x.at(process).finish();
    x.speak(process);
  }
  x.pass(1s);
  x.take_counts();
  for (const auto process : x.all()) {
    REQUIRE(x.at(process).is_over());
    x.at(process).leave();
    x.speak(process);
    x.close(process);
    x.wait(1s);
    if (const auto rest = x.all(); !rest.empty())
      x.speak(rest[process % rest.size()]);
  }
  const auto left = x.take_counts();
  CHECK(left.beats <= 2 * n);
  CHECK(left.words <= left.beats);
}

TEST_CASE("traffic: ranks that raise the horizon one after the other pay for what all hear") {
  const auto n = some_processes();
  busy_host x{{.world_size = n}};
  settle_in(x);
  for (const std::uint64_t round : {1, 2}) {
    for (const auto process : x.all()) {
      x.at(process).state(0, {1000 * round + process, false});
      x.at(process).wait_for_saved(true); // so that it says so at once
      x.speak(process);
      x.at(process).wait_for_saved(false);
    }
    const auto rose = x.take_counts();
    CHECK(rose.beats <= 4 * n);
    CHECK(rose.words <= rose.beats + 8 * rose.beats + 16 * n);
    x.tick();
    for (const auto process : x.all())
      CHECK(x.at(process).known(0).batches == 1000 * round + 1);
    x.take_counts();
  }
}

TEST_CASE("traffic: processes of two jobs that meet hear once that they differ") {
  const auto n = some_processes();
  busy_host x{{.world_size = n}};
  for (std::uint64_t i = 0; i < n / 2; ++i) {
    x.join(i + 1, i);
    x.join(n + i + 1, i, "8");
  }
  const auto met = x.take_counts();
  CHECK(met.words <= met.beats + n);
  CHECK(met.bytes < 500 * n);
  for (const auto process : x.all())
    CHECK(has(x.at(process).refused(), "seed: \"7\" there, \"8\" here"));
}

TEST_CASE("traffic: a refusal does not name all ranks that it is for") {
  const auto n = some_processes();
  busy_host x{{.world_size = n}};
  for (std::uint64_t rank = 0; rank < n; ++rank) {
    const auto sets = "sets" + std::to_string(rank / 2);
    x.join(rank + 1, rank, "7", sets.c_str());
  }
  x.pass(1s);
  for (const auto process : x.all())
    CHECK(has(x.at(process).refused(), "\n  ranks 0, 1: the newest set in sets0\n"));
  CHECK(x.at(1).refused().size() < 1000);
  CHECK(x.take_counts().bytes < 4 * 1000 * n);
}

} // namespace leat::coordinator_traffic_test
