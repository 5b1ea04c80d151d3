// The work of a coordinator for a thousand ranks in a star, without faults.
#include "runtime/cluster/coordinator.hpp"
#include "runtime/cluster/member.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_facts.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/standard.hpp"

#include <malloc.h>

namespace leat::cluster_scale_test {

using namespace std::chrono_literals;
using test::hello_of;
using test::kept_in_memory;

namespace {

constexpr std::uint64_t ranks_per_host = 8;

struct star {
  explicit star(std::uint64_t ranks)
      : lead(
          {}, "secret", memory.begin_life(), memory,
          [](const std::string&) { return std::nullopt; }, now) {
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      auto hello = hello_of(rank + 1, rank);
      hello.rules.world_size = ranks;
      hello.process.boot = {rank / ranks_per_host, 1};
      members.push_back(std::make_unique<member>(hello, cluster_times{}));
      members.back()->want("sets", {});
      members.back()->on_connected();
    }
  }

  void connect() {
    for (std::uint64_t i = 0; i < members.size(); ++i)
      lead.on_hello(i + 1, members[i]->hello(), now);
  }

  void settle() {
    do
      speak();
    while (listen());
  }
  void speak() {
    for (std::uint64_t i = 0; i < members.size(); ++i)
      if (const auto beat = members[i]->take_beat(now)) {
        ++beats;
        lead.on_beat(i + 1, *beat, now);
      }
  }
  bool listen() {
    const auto out = lead.take_output();
    for (const auto& x : out.words)
      members[x.to - 1]->on_word(x.what, now);
    words += out.words.size();
    return !out.words.empty();
  }
  /// Lets half a beat pass.
  void pass() {
    now += 500ms;
    lead.tick(now);
    settle();
  }

  kept_in_memory memory;
  std::chrono::nanoseconds now = 100s;
  std::vector<std::unique_ptr<member>> members;
  coordinator lead;
  std::uint64_t beats = 0;
  std::uint64_t words = 0;
};

} // namespace

TEST_CASE("a thousand ranks cost a coordinator two messages per rank and second") {
  constexpr std::uint64_t ranks = 1000;
  constexpr int seconds = test::sanitized ? 3 : 20;
  star x{ranks};
  const auto before = mallinfo2().uordblks;
  x.connect();
  for (int i = 0; i < 4; ++i)
    x.pass();
  const auto after = mallinfo2().uordblks;
  for (const auto& one : x.members)
    REQUIRE(one->term() == 1);
  x.beats = x.words = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 2 * seconds; ++i)
    x.pass();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  CHECK(x.beats == ranks * seconds);
  CHECK(x.words == ranks * seconds);
  CHECK(std::all_of(x.members.begin(), x.members.end(),
                    [&](const auto& one) { return one->has_lease(x.now); }));
  std::cout << ranks << " ranks: " << static_cast<double>(x.beats + x.words) / seconds
            << " messages per second, "
            << 1e6 * time.count() / static_cast<double>(x.beats + x.words)
            << " us each with its member's part, "
            << static_cast<double>(after - before) / static_cast<double>(ranks)
            << " bytes of state per rank (members' included)\n";

  // A horizon rises on all ranks: each reports it, and all learn of it as soon as the last has.
  for (const auto& one : x.members)
    one->begin({0, 0}, 0);
  x.pass();
  x.pass();
  x.beats = x.words = 0;
  const auto rising = std::chrono::steady_clock::now();
  for (const auto& one : x.members)
    one->state(0, {8, false});
  x.settle();
  const std::chrono::duration<double> until_known = std::chrono::steady_clock::now() - rising;
  const auto knows = [](const auto& one) { return one->known(0).batches == 8; };
  CHECK(std::all_of(x.members.begin(), x.members.end(), knows));
  CHECK(x.beats <= 2 * ranks);
  CHECK(x.words <= 4 * ranks);
  std::cout << "a horizon rises: " << x.beats << " beats and " << x.words << " words, "
            << 1e3 * until_known.count() << " ms of processor time\n";
}

} // namespace leat::cluster_scale_test
