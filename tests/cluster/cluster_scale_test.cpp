// What a job of many ranks costs, with its coordinator and its members as they are, in a star
// without faults: within twice what the cluster's model computes for it (its scale.py), in
// proportion to the number of ranks, and the same for each of them.
#include "tests/cluster/least_growth.hpp"
#include "tests/cluster/measured_star.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

namespace leat::cluster_scale_test {

using test::measured_star;

namespace {

/// What the model computes for a star of so many ranks: a beat per second; until all know of a
/// horizon that rose, and of a failure; until a set is stored, with parts of 700 bytes and of 25
/// KB.
struct modelled {
  std::uint64_t ranks;
  double beats_core, beats_mb_per_second;
  double horizon_s, failure_s, small_set_s, large_set_s;
};
constexpr modelled thousand_ranks{1000, 0.01815, 0.3, 0.0132, 0.00927, 0.0384, 0.0706};
constexpr modelled ten_thousand_ranks{10'000, 0.1815, 3, 0.176, 0.0916, 0.204, 0.521};
constexpr double most_of_model = 2;

/// What a rank costs at most, in all: messages that the coordinator sends or gets, and its memory.
constexpr double most_messages_to_join = 12;
constexpr double most_messages_of_set = 10;
constexpr std::size_t most_bytes_per_rank = 2500;
/// A job of ten times as many ranks may spend so many times more in the coordinator's code for a
/// message: its state is larger than caches, and has deeper trees. One look at all ranks is ten
/// times more.
constexpr double most_growth = 5;

constexpr double beat_seconds = 3;
/// In which all ranks do the same.
constexpr double together = 0.005;

struct phase {
  double seconds = 0;
  measured_star::costs costs = {};
};

/// By name.
struct figures {
  std::uint64_t ranks = 0;
  std::map<std::string, phase> phases = {};
  std::size_t bytes = 0;
  double own_seconds = 0;
  double messages = 0;

  void add(const std::string& name, double seconds, const measured_star::costs& x) {
    phases[name] = {seconds, x};
    const auto n = static_cast<double>(x.coordinator.messages);
    own_seconds += n * x.seconds_per_message;
    messages += n;
  }
  double messages_per_rank(const std::string& name) const {
    return static_cast<double>(phases.at(name).costs.coordinator.messages)
           / static_cast<double>(ranks);
  }
  double own_seconds_per_message() const { return own_seconds / messages; }
};

double core_of(const phase& x) {
  return 1e-9 * static_cast<double>(x.costs.coordinator.busy.count()) / x.seconds;
}

double mb_per_second(const phase& x) {
  return 1e-6 * static_cast<double>(x.costs.coordinator.bytes) / x.seconds;
}

double seconds_of_set(measured_star& x, std::uint64_t step, std::size_t bytes) {
  const auto part = std::make_shared<const std::string>(bytes, 's');
  const job_position at{0, step};
  x.each_within(together, [&](member& one) { one.save(at, part); });
  x.until([&] { return x.all([&](const member& one) { return one.stored() == at; }); });
  return std::chrono::duration<double>(*x.stored() - *x.collected()).count();
}

auto sits_in(std::uint64_t term) {
  return [term](const member& one) { return one.term() == term; };
}

void rest(measured_star& x) {
  x.run(2);
  x.take_costs();
}

/// Ranks join, train, save, fail and begin again.
figures of_job(std::uint64_t ranks) {
  figures to{.ranks = ranks};
  measured_star x{{.ranks = ranks}};
  x.connect(1);
  const auto joined = x.until([&] { return x.all(sits_in(1)); });
  to.add("join", joined, x.take_costs());
  x.each_within(together, [](member& one) { one.begin({0, 0}, 0); });
  rest(x);
  x.run(beat_seconds);
  to.add("beats", beat_seconds, x.take_costs());
  CHECK(x.all([&](const member& one) { return one.has_lease(x.now()); }));
  for (const std::uint64_t batches : {8, 16}) { // the first time there is more to hear
    rest(x);
    x.each_within(together, [&](member& one) { one.state(0, {batches, false}); });
    const auto knows = [&](const member& one) { return one.known(0).batches == batches; };
    const auto known = x.until([&] { return x.all(knows); });
    to.add("horizon", known - together, x.take_costs());
  }
  rest(x);
  const auto small = seconds_of_set(x, 5, 700);
  to.add("small set", small, x.take_costs());
  rest(x);
  const auto large = seconds_of_set(x, 10, 25'000);
  to.add("large set", large, x.take_costs());
  rest(x);
  to.bytes = x.bytes_of_coordinator();
  x.one(ranks - 1, [](member& one) { one.fail("the disk is on fire"); });
  const auto failed =
      x.until([&] { return x.all([](const member& one) { return !one.failure().empty(); }); });
  to.add("failure", failed, x.take_costs());
  x.lose_all();
  x.connect(1);
  const auto began = x.until([&] { return x.all(sits_in(2)); });
  to.add("restart", began, x.take_costs());
  return to;
}

/// Figures of a job whose ranks come back alone, and whose epochs end with the rank that has most.
figures of_free_ranks(std::uint64_t ranks) {
  figures to{.ranks = ranks};
  measured_star x{{.ranks = ranks, .rules = {.comes_back_alone = true}, .ends_with_last = true}};
  x.connect(1);
  x.until([&] { return x.all(sits_in(1)); });
  x.each_within(together, [](member& one) { one.begin({0, 0}, 0); });
  rest(x);
  for (std::uint64_t second = 1; second <= 3; ++second) {
    x.each_within(1, [&](member& one) {
      one.move_on({.saves_from = {0, second}, .global_step = second});
      one.state(0, {16 * second, false});
    });
    x.run(1);
  }
  to.add("steps", 3, x.take_costs());
  CHECK(x.all([](const member& one) { return one.step_limit() > 1000; }));
  x.lose_all();
  x.connect(1);
  const auto back = x.until([&] { return x.all(sits_in(1)); });
  to.add("back", back, x.take_costs());
  return to;
}

void print(const figures& x) {
  std::ostringstream text;
  text << x.ranks << " ranks: ";
  if (x.bytes > 0)
    text << x.bytes / x.ranks << " bytes of state per rank, ";
  text << 1e6 * x.own_seconds_per_message() << " us of own code per message\n";
  for (const auto& [name, of] : x.phases)
    text << "  " << name << ": " << of.seconds << " s, " << x.messages_per_rank(name)
         << " messages per rank, busiest rank " << of.costs.rank.messages << ", coordinator "
         << core_of(of) << " of a core, " << mb_per_second(of) << " MB/s\n";
  std::cout << text.str();
}

void check_model(const figures& x, const modelled& model) {
  const auto& beats = x.phases.at("beats");
  CHECK(x.messages_per_rank("beats") == Approx(2 * beat_seconds).epsilon(0.01));
  CHECK(core_of(beats) <= most_of_model * model.beats_core);
  CHECK(mb_per_second(beats) <= most_of_model * model.beats_mb_per_second);
  CHECK(x.phases.at("horizon").seconds <= most_of_model * model.horizon_s);
  CHECK(x.phases.at("failure").seconds <= most_of_model * model.failure_s);
  CHECK(x.phases.at("small set").seconds <= most_of_model * model.small_set_s);
  CHECK(x.phases.at("large set").seconds <= most_of_model * model.large_set_s);
}

void check_each_rank(const figures& x) {
  for (const auto* name : {"join", "restart"}) {
    CHECK(x.messages_per_rank(name) <= most_messages_to_join);
    CHECK(x.phases.at(name).seconds <= 3); // they come within a second, and the beat is one
  }
  for (const auto* name : {"small set", "large set"})
    CHECK(x.messages_per_rank(name) <= most_messages_of_set);
  CHECK(x.messages_per_rank("horizon") <= 4);
  CHECK(x.messages_per_rank("failure") <= 2);
  for (const auto& [name, of] : x.phases) {
    CAPTURE(name);
    CHECK(static_cast<double>(of.costs.rank.messages)
          <= 2 * x.messages_per_rank(name) + 4); // no rank is told more than others
  }
  if (!test::sanitized) // these have a heap of their own
    CHECK(x.bytes <= most_bytes_per_rank * x.ranks);
}

TEST_CASE("scale: a job costs what the model says, each rank as much in a large one") {
  const auto cost_of = [](std::uint64_t ranks) {
    const auto x = of_job(ranks);
    print(x);
    check_each_rank(x);
    if (!test::sanitized)
      check_model(x, ranks == 1000 ? thousand_ranks : ten_thousand_ranks);
    return x.own_seconds_per_message();
  };
  if (test::sanitized)
    cost_of(100);
  else
    CHECK(test::least_growth(most_growth, cost_of) <= most_growth);
}

TEST_CASE("scale: ranks that come back alone cost as much in a large job") {
  std::map<std::string, double> messages; // per rank, of the small job
  const auto cost_of = [&](std::uint64_t ranks) {
    const auto x = of_free_ranks(ranks);
    print(x);
    for (const auto& [name, of] : x.phases)
      if (ranks == 1000)
        messages[name] = x.messages_per_rank(name);
      else if (const auto small = messages.find(name); small != messages.end())
        CHECK(x.messages_per_rank(name) <= 1.5 * small->second);
    return x.own_seconds_per_message();
  };
  if (test::sanitized)
    cost_of(100);
  else
    CHECK(test::least_growth(most_growth, cost_of) <= most_growth);
}

} // namespace
} // namespace leat::cluster_scale_test
