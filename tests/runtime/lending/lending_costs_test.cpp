#include "runtime/lending/lending_costs.hpp"
#include "tests/support/test.hpp"

namespace leat::lending_costs_test {
namespace {

constexpr std::int64_t us = 1000;
constexpr std::int64_t second = 1'000'000'000;

struct costs {
  std::int64_t making = 1000 * us;
  std::int64_t sending = 10 * us;
  std::int64_t receiving = 100 * us;
};

/// What it knows once rows and probes of these costs were made, sent and received.
lending_costs knows(const costs& of_rows, const costs& of_probes) {
  lending_costs x;
  made_here sum;
  for (int i = 0; i < 20; ++i) {
    sum.batches.rows += 10;
    sum.batches.time += 10 * of_rows.making;
    sum.probes.rows += 10;
    sum.probes.time += 10 * of_probes.making;
    x.made(sum);
    x.sent(lent_form::items, of_rows.sending);
    x.sent(lent_form::records, of_probes.sending);
    x.received(true, of_rows.receiving);
    x.received(false, of_probes.receiving);
  }
  return x;
}

bool lends(lending_costs x, lent_form form, bool is_batch) {
  const auto found = x.choose(form, 0);
  return is_batch ? found.batches : found.probes;
}

TEST_CASE("lending_costs: rows are lent unless that costs more than half of making them") {
  struct line {
    costs what;
    bool is_lent;
  };
  for (const auto& [what, is_lent] : {
           line{{.making = 1000, .sending = 10, .receiving = 100}, true},
           line{{.making = 1000, .sending = 100, .receiving = 400}, true},
           line{{.making = 1000, .sending = 101, .receiving = 400}, false},
           line{{.making = 1000, .sending = 0, .receiving = 501}, false},
           line{{.making = 1000, .sending = 501, .receiving = 0}, false},
           line{{.making = 1, .sending = 50, .receiving = 50}, false},
       }) {
    CAPTURE(what.making, what.sending, what.receiving);
    const costs cheap;
    REQUIRE(lends(knows(what, cheap), lent_form::items, true) == is_lent);
    REQUIRE(lends(knows(what, cheap), lent_form::items, false)
            == (2 * (what.sending + cheap.receiving) <= cheap.making));
  }
}

TEST_CASE("lending_costs: probes, and rows whose records travel, are judged by what they cost") {
  const costs cheap{.making = 1000, .sending = 10, .receiving = 100};
  const costs expensive{.making = 1000, .sending = 450, .receiving = 100};
  const auto x = knows(cheap, expensive); // what is sent with records is expensive
  REQUIRE(lends(x, lent_form::items, true));
  REQUIRE(lends(x, lent_form::items, false));
  REQUIRE_FALSE(lends(x, lent_form::records, true));
  REQUIRE_FALSE(lends(x, lent_form::records, false));
}

TEST_CASE("lending_costs: all is lent until enough was measured") {
  lending_costs x;
  const auto all_are_lent = [&] {
    const auto found = x.choose(lent_form::items, 0);
    return found.batches && found.probes && !found.is_trial;
  };
  REQUIRE(all_are_lent());
  made_here sum;
  for (int i = 0; i < 20; ++i)
    x.made(sum = {.batches = {sum.batches.rows + 10, sum.batches.time + 10}});
  REQUIRE(all_are_lent());
  x.sent(lent_form::items, 100);
  for (int i = 0; i < 7; ++i)
    x.received(true, 100);
  REQUIRE(all_are_lent());
  x.received(true, 100);
  REQUIRE_FALSE(all_are_lent());
}

TEST_CASE("lending_costs: a few rows unlike the others change nothing") {
  auto x = knows({}, {});
  for (int i = 0; i < 7; ++i) {
    x.received(true, second);
    x.sent(lent_form::items, second);
  }
  REQUIRE(lends(x, lent_form::items, true));
  x.received(true, second);
  REQUIRE_FALSE(lends(x, lent_form::items, true));
}

TEST_CASE("lending_costs: rows that are not lent are tried now and then, and lent once it pays") {
  auto x = knows({.receiving = 700 * us}, {});
  constexpr auto pause = lending_costs::between_trials;
  REQUIRE_FALSE(x.choose(lent_form::items, 5).batches);
  REQUIRE_FALSE(x.choose(lent_form::items, 4 + pause).batches);
  const auto trial = x.choose(lent_form::items, 5 + pause);
  REQUIRE((trial.batches && !trial.probes && trial.is_trial));
  x.tried(lent_form::items, 5 + pause);
  REQUIRE_FALSE(x.choose(lent_form::items, 6 + pause).batches);
  for (int i = 0; i < 8; ++i)
    x.received(true, 100 * us);
  const auto found = x.choose(lent_form::items, 6 + pause);
  REQUIRE((found.batches && found.probes && !found.is_trial));
}

TEST_CASE("lending_costs: rows that are not lent are lent again below two fifths of making them") {
  auto x = knows({.sending = 0, .receiving = 510 * us}, {});
  const auto are_lent_at = [&](std::int64_t receiving) {
    for (int i = 0; i < 15; ++i)
      x.received(true, receiving);
    return x.choose(lent_form::items, 0).batches;
  };
  REQUIRE_FALSE(x.choose(lent_form::items, 0).batches);
  REQUIRE_FALSE(are_lent_at(490 * us));
  REQUIRE(has(x.reason(), "not much less than half of the 1000 us"));
  REQUIRE_FALSE(are_lent_at(400 * us));
  REQUIRE(are_lent_at(399 * us));
  REQUIRE(are_lent_at(500 * us));
  REQUIRE_FALSE(are_lent_at(501 * us));
}

TEST_CASE("lending_costs: noise around any cost changes the choice once at most") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 chance{seed};
  const auto noisy = [&](std::int64_t x) {
    constexpr std::int64_t percent = 7;
    return x * (100 - percent + static_cast<std::int64_t>(chance() % (2 * percent + 1))) / 100;
  };
  for (std::int64_t part = 300; part <= 700; part += 10) { // thousandths of making them
    CAPTURE(part);
    lending_costs x;
    made_here sum;
    bool are_lent = true;
    int changes = 0;
    for (int i = 0; i < 1000; ++i) {
      sum.batches.rows += 4;
      sum.batches.time += 4 * noisy(1000 * us);
      x.made(sum);
      x.sent(lent_form::items, noisy(part * us / 5));
      x.received(true, noisy(part * us * 4 / 5));
      changes += std::exchange(are_lent, x.choose(lent_form::items, 0).batches) != are_lent ? 1 : 0;
    }
    REQUIRE(changes <= 1);
    if (part < 450)
      REQUIRE(are_lent);
    if (part > 550)
      REQUIRE_FALSE(are_lent);
  }
}

TEST_CASE("lending_costs: why rows are not lent is known as long as it holds, and told once") {
  auto x = knows({.receiving = 700 * us}, {});
  REQUIRE(x.take_news().empty());
  (void)x.choose(lent_form::items, 0);
  REQUIRE(has(x.reason(), "receiving a row takes 710 us"));
  REQUIRE(has(x.reason(), "more than half of the 1000 us"));
  REQUIRE(x.take_news() == x.reason());
  REQUIRE(x.take_news().empty());
  for (int i = 0; i < 8; ++i)
    x.received(true, 100 * us);
  (void)x.choose(lent_form::items, 0);
  REQUIRE(x.reason().empty());
}

} // namespace
} // namespace leat::lending_costs_test
