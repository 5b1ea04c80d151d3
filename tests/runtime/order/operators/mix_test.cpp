#include "runtime/order/iterators/iterator.hpp"
#include "runtime/rows/job_plan.hpp"
#include "tests/support/test.hpp"

#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

namespace leat::mix_test {
namespace {

/// What a mix may be: the cost of each item of each input, and the options.
struct any_mix {
  std::vector<std::vector<std::uint64_t>> costs;
  mix_options options;
  std::uint64_t lane = 0;
  std::uint64_t lanes = 1;
};

/// Input, repetition, number of the item in it.
using choice = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
using choices = std::vector<choice>;

constexpr std::size_t most_items = 400;

/// docs/iterators.md as simply as possible: it keeps nothing but the choices.
class model {
public:
  explicit model(const any_mix& of)
      : of_(of), next_(of.costs.size()), repetition_(of.costs.size()), ends_(of.costs.size()),
        is_used_up_(of.costs.size()) {}

  choices all() {
    while (chosen_.size() < most_items) {
      const auto phase = phase_now();
      if (phase != phase_) {
        phase_ = phase;
        taken_.assign(of_.costs.size(), 0);
        for (std::uint64_t i = 0; i < of_.lane; ++i)
          ++taken_[pick()];
      }
      while (auto end = end_at(pick()))
        if (!go_on(*end))
          return chosen_;
      const auto input = pick();
      const auto cost = of_.costs[input][next_[input]];
      chosen_.emplace_back(input, repetition_[input], next_[input]++);
      taken_[input] += cost;
      spent_ += cost;
    }
    return chosen_;
  }

private:
  std::uint64_t share(std::uint64_t n) const {
    std::uint64_t count = 0;
    for (auto i = of_.lane; i < n; i += of_.lanes)
      ++count;
    return count;
  }
  std::size_t phase_now() const {
    std::size_t phase = 1;
    for (std::size_t i = 0; i < of_.options.schedule.size(); ++i)
      if (share(of_.options.schedule[i].step) <= spent_)
        phase = i + 2;
    return phase;
  }
  double weight(std::size_t i) const {
    const auto& given =
        phase_ == 1 ? of_.options.weights : of_.options.schedule[phase_ - 2].weights;
    return given.empty() ? 1 : given[i];
  }
  bool is_live(std::size_t i) const {
    return of_.options.stop == mix_stop::cycle ? !is_used_up_[i] : ends_[i] == 0;
  }
  /// Small whole weights: all products are exact.
  std::size_t pick() const {
    std::vector<double> weights(of_.costs.size());
    double sum = 0;
    double total = 1;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i] = is_live(i) ? weight(i) : 0;
      total += static_cast<double>(taken_[i]);
    }
    for (std::size_t i = 0; sum == 0 && i < weights.size(); ++i)
      weights[i] = is_live(i) ? 1 : 0;
    sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::optional<std::size_t> best;
    const auto lack = [&](std::size_t i) {
      return weights[i] * total - static_cast<double>(taken_[i]) * sum;
    };
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (weights[i] > 0 && (!best || lack(i) > lack(*best)))
        best = i;
    return *best;
  }
  std::optional<std::size_t> end_at(std::size_t i) const {
    return next_[i] == of_.costs[i].size() ? std::optional{i} : std::nullopt;
  }
  /// False if the mix is over.
  bool go_on(std::size_t i) {
    ++ends_[i];
    if (of_.options.stop == mix_stop::first
        || std::all_of(ends_.begin(), ends_.end(), [](auto x) { return x > 0; }))
      return false;
    if (of_.options.stop != mix_stop::cycle)
      return true;
    if (of_.options.max_repeats > 0 && ends_[i] > of_.options.max_repeats) {
      is_used_up_[i] = true;
    } else {
      ++repetition_[i];
      next_[i] = 0;
    }
    return true;
  }

  const any_mix& of_;
  choices chosen_;
  std::vector<std::uint64_t> next_;
  std::vector<std::uint64_t> repetition_;
  std::vector<std::uint64_t> ends_;
  std::vector<bool> is_used_up_;
  std::vector<std::uint64_t> taken_;
  std::uint64_t spent_ = 0;
  std::size_t phase_ = 0;
};

/// Input rounds of the mix, whose items are late at random.
class fake_inputs final : public round_input {
public:
  fake_inputs(const any_mix& of, std::mt19937_64* chance) : of_(of), chance_(chance) {}

  void open(std::size_t, const lap&) override {}
  pulled take(std::size_t edge, const lap&, std::uint64_t number, item& into,
              probe_result& found) override {
    if (chance_ && (*chance_)() % 3 == 0)
      return pulled::blocked;
    const auto& costs = of_.costs[edge];
    if (number >= costs.size())
      return pulled::end;
    into.add(number);
    found.number = costs[number];
    return pulled::item;
  }
  void resume(std::size_t, const lap&, std::uint64_t) override {}

private:
  const any_mix& of_;
  std::mt19937_64* chance_;
};

/// A mix of this kind over rounds that are given by `fake_inputs`.
std::shared_ptr<job_plan> plan_of(const any_mix& x) {
  std::vector<pipeline> inputs;
  for (const auto& costs : x.costs)
    inputs.push_back(count(std::max<std::uint64_t>(1, costs.size()) * x.lanes));
  auto options = x.options;
  options.cost = "value";
  return std::make_shared<job_plan>(
      plan_job(mix(inputs, options).batch(x.lanes, {.lanes = x.lanes, .end = epoch_end::mask})));
}

/// One iterator, and what it has given.
class running {
public:
  running(const any_mix& of, std::shared_ptr<const job_plan> plan, std::mt19937_64* chance)
      : plan_(std::move(plan)), inputs_(of, chance), cycles_(of.options.stop == mix_stop::cycle),
        iterator_(plan_->samples->iterator->begin(
            {.lane = of.lane, .lanes = of.lanes, .inputs = &inputs_, .run = &run_}, {})) {}

  iterator& state() { return *iterator_; }
  /// The next choice; nothing at the end.
  std::optional<choice> next() {
    for (;;) {
      item what;
      const auto result = iterator_->pull(what);
      if (result == pulled::blocked) {
        REQUIRE(what.empty());
        continue;
      }
      if (result == pulled::end)
        return std::nullopt;
      item_reader from{what};
      const auto input = from.number();
      const auto repetition = cycles_ ? from.number() : 0;
      return choice{input, repetition, from.number()};
    }
  }
  /// One pull, which may give nothing yet.
  pulled pull() {
    item what;
    return iterator_->pull(what);
  }
  std::string saved() const {
    item to;
    iterator_->save(to);
    return std::string{to.bytes()};
  }

private:
  std::shared_ptr<const job_plan> plan_;
  fake_inputs inputs_;
  iterator_run run_;
  bool cycles_;
  std::unique_ptr<iterator> iterator_;
};

choices rest_of(running& from) {
  choices all;
  while (all.size() < most_items)
    if (const auto next = from.next())
      all.push_back(*next);
    else
      break;
  return all;
}

any_mix made_by(std::mt19937_64& random) {
  any_mix x;
  x.lanes = 1 + random() % 4;
  x.lane = random() % x.lanes;
  const auto inputs = 1 + random() % 4;
  const auto weights = [&] {
    std::vector<double> all;
    for (std::size_t i = 0; i < inputs; ++i)
      all.push_back(static_cast<double>(random() % 4 + (i > 0 ? 0 : 1)));
    std::shuffle(all.begin(), all.end(), random);
    return all;
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    auto& costs = x.costs.emplace_back(1 + random() % 12);
    for (auto& cost : costs)
      cost = random() % 9;
  }
  x.options.weights = weights();
  x.options.stop =
      std::array{mix_stop::all, mix_stop::first, mix_stop::cycle, mix_stop::cycle}[random() % 4];
  if (x.options.stop == mix_stop::cycle)
    x.options.max_repeats = random() % 4;
  x.options.cost = "value";
  std::uint64_t at = 0;
  for (auto phases = random() % 4; phases > 0; --phases)
    x.options.schedule.push_back({at += 1 + random() % 40, weights()});
  if (!x.options.schedule.empty())
    x.options.schedule_by = mix_schedule::cost;
  return x;
}

std::string told(const any_mix& x) {
  std::string text = "lane " + std::to_string(x.lane) + " of " + std::to_string(x.lanes);
  for (const auto& costs : x.costs) {
    text += "; costs";
    for (const auto cost : costs)
      text += ' ' + std::to_string(cost);
  }
  return text;
}

TEST_CASE("mix: chooses as documented, and goes on from any state, also within an item") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 400; ++round) {
    const auto x = made_by(random);
    const auto plan = plan_of(x);
    CAPTURE(round, told(x), plan->samples->stage_names);
    const auto due = model{x}.all();
    running whole{x, plan, nullptr};
    REQUIRE(rest_of(whole) == due);

    running one{x, plan, &random};
    for (std::size_t given = 0; given <= std::min<std::size_t>(due.size(), 120);) {
      CAPTURE(given);
      const auto state = one.saved();
      running other{x, plan, nullptr};
      item_reader from{state};
      other.state().load(from);
      REQUIRE(from.at_end());
      REQUIRE(other.saved() == state);
      const auto rest = rest_of(other);
      const auto left = std::min(rest.size(), due.size() - given);
      REQUIRE(std::equal(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(left),
                         due.begin() + static_cast<std::ptrdiff_t>(given)));
      REQUIRE((due.size() == most_items || rest.size() == due.size() - given));
      const auto result = one.pull();
      if (result == pulled::end)
        break;
      given += result == pulled::item ? 1 : 0;
    }
  }
}

TEST_CASE("mix: options that exclude each other are refused") {
  const auto refused = [](const mix_options& options) {
    return code_of([&] { mix({count(9), count(9)}, options); }) == errc::invalid_argument;
  };
  CHECK_FALSE(refused({.stop = mix_stop::cycle, .max_repeats = 1}));
  CHECK_FALSE(refused({.stop = mix_stop::cycle, .max_repeats = UINT32_MAX}));
  CHECK(refused({.stop = mix_stop::cycle, .max_repeats = std::uint64_t{1} << 32}));
  CHECK(refused({.max_repeats = 1}));
  CHECK(refused({.stop = mix_stop::first, .max_repeats = 1}));
  mix_options by_cost{
      .cost = "value", .schedule = {{5, {1, 2}}}, .schedule_by = mix_schedule::cost};
  CHECK_FALSE(refused(by_cost));
  const auto refused_with = [&](auto change) {
    auto other = by_cost;
    change(other);
    return refused(other);
  };
  CHECK(refused_with([](mix_options& x) { x.cost = {}; }));
  CHECK(refused_with([](mix_options& x) { x.schedule = {}; }));
  CHECK(refused_with([](mix_options& x) { x.rule = mix_rule::random; }));
}

TEST_CASE("mix: states that it cannot have written are refused") {
  const any_mix x{.costs = {{1, 2}, {3, 4, 5}},
                  .options = {.stop = mix_stop::cycle,
                              .schedule = {{4, {1, 3}}, {9, {3, 1}}},
                              .max_repeats = 2,
                              .schedule_by = mix_schedule::cost}};
  const auto plan = plan_of(x);
  const auto load = [&](const std::vector<std::uint64_t>& numbers) {
    item state;
    for (const auto number : numbers)
      state.add(number);
    running other{x, plan, nullptr};
    item_reader from{state};
    other.state().load(from);
  };
  const auto refused = [&](const std::vector<std::uint64_t>& numbers) {
    return code_of([&] { load(numbers); }) == errc::bad_snapshot;
  };
  // Items; over; phase, cost; for each input: taken, end, repetition, given, consumed, ended.
  const std::vector<std::uint64_t> good{5, 0, 4, 9, 3, 1, 1, 1, 1, 0, 4, 0, 0, 2, 2, 0};
  REQUIRE_NOTHROW(load(good));
  const auto with = [&](std::size_t i, std::uint64_t number) {
    auto numbers = good;
    numbers[i] = number;
    return numbers;
  };
  CHECK(refused(with(2, 5))); // no such phase
  CHECK(refused(with(3, 3))); // which begins later
  CHECK(refused(with(5, 2))); // for good, in a repetition that is not the last
  CHECK(refused(with(5, 3)));
  CHECK(refused(with(6, 3))); // more repetitions than there are
  CHECK(refused(with(5, 0))); // began again, and never ended
  auto used_up = with(5, 2);
  used_up[6] = 2;
  CHECK_NOTHROW(load(used_up));
}

} // namespace
} // namespace leat::mix_test
