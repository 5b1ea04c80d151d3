#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/conformance/data.hpp"
#include "tests/conformance/interrupted_job.hpp"
#include "tests/conformance/pipelines.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <random>

// What every source and every operator must pass: see pipelines.cpp, one line each. This does not
// check the meaning of a pipeline (random_pipelines.py does), but that what a job hands over does
// not depend on how it runs and where it is broken off.

namespace leat::test::conformance_test {
namespace {

/// How lanes and batches are made from a pipeline.
struct batching {
  std::uint64_t rows;
  std::uint64_t lanes;
  std::string end;
};

/// Many items in each lane.
batching few_lanes(const std::string& end) {
  return {12, 4, end};
}
/// For many world sizes.
batching many_lanes(const std::string& end) {
  return {24, 24, end};
}

std::string with_batch(const std::string& text, const batching& x) {
  return text + drawing_map + ".batch(" + std::to_string(x.rows)
         + ", lanes=" + std::to_string(x.lanes) + ", end=\"" + x.end + "\")";
}

bool is_once(const std::string& text) {
  return leat::is_once(parse_pipeline(text).root());
}

bool is_indexed(const std::string& text) {
  return leat::is_indexed(parse_pipeline(text).root());
}

/// Two epochs, or two and a half of an endless one.
interrupted_plan plan_of(const std::string& text, const batching& x) {
  interrupted_plan plan{.text = with_batch(text, x), .epochs = is_once(text) ? 1U : 2U};
  if (x.end != "cycle")
    return plan;
  auto one_epoch = plan_of(text, {x.rows, x.lanes, "mask"});
  one_epoch.epochs = 1;
  plan.epochs = 1;
  plan.steps = train(one_epoch).batches.size() * 5 / 2 + 1;
  return plan;
}

std::vector<std::string> ends_of(const std::string& text) {
  if (is_once(text))
    return {"drop", "mask"}; // the data cannot be read a second time
  return {"drop", "mask", "cycle"};
}

struct conformance_case {
  std::string name;
  std::string text;
  std::string end;
};

/// Every pipeline under every end; with sanitizers, under one of its ends.
std::vector<conformance_case> all_cases() {
  std::vector<conformance_case> cases;
  std::size_t number = Catch::rngSeed();
  for (const auto& [name, text] : registered_pipelines()) {
    auto ends = ends_of(text);
    if (sanitized)
      ends = {ends[number++ % ends.size()]};
    for (const auto& end : ends)
      cases.push_back({name + ", " + end, text, end});
  }
  return cases;
}

/// Creates the data that the pipelines read, and registers their functions, once.
void prepare() {
  static const conformance_data data;
}

/// Calls `check` for every registered pipeline, under every end, each in a section of its own.
template <class Check>
void for_all(Check check) {
  prepare();
  static const auto cases = all_cases(); // static, because the test runs once per section
  for (const auto& x : cases)
    DYNAMIC_SECTION(x.name) {
      check(x.text, x.end);
    }
}

/// Checks that positions rise, that each row is in the batch to which it belongs, and that none is
/// missing unless the end rule allows it.
void check_places(const training& x, const batching& how) {
  for (const auto& batch : x.batches) {
    const auto& rows = batch.step.rows;
    CAPTURE(batch.step.epoch, batch.step.step);
    REQUIRE(std::is_sorted(rows.begin(), rows.end(),
                           [](auto& a, auto& b) { return a.position <= b.position; }));
    for (const auto& row : rows)
      REQUIRE(row.position / how.rows == batch.step.step);
    if (how.end != "mask")
      REQUIRE(rows.size() + batch.bad_rows == how.rows);
  }
}

TEST_CASE("conformance: broken off after any batch, a job resumes as if it had not been") {
  const auto is_chosen = [](std::size_t steps) {
    return sanitized ? (steps + Catch::rngSeed()) % 8 == 0 : is_drawn(steps);
  };
  for_all([&](const std::string& text, const std::string& end) {
    const auto how = few_lanes(end);
    interrupted_job job{plan_of(text, how)};
    job.run({});
    const auto expected = job.trained();
    REQUIRE_FALSE(expected.failure);
    REQUIRE(expected.batches.size() > 3);
    check_places(expected, how);
    for (auto steps = expected.batches.size() + 1; steps-- > 0;) {
      if (!is_chosen(steps))
        continue;
      CAPTURE(steps, Catch::rngSeed());
      job.go_back(steps);
      job.run({});
      REQUIRE(difference_of(expected, job.trained()) == "");
    }
  });
}

TEST_CASE("conformance: ten breaks at random places, and restores without a step between") {
  const auto seed = Catch::rngSeed();
  for_all([&](const std::string& text, const std::string& end) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const auto plan = plan_of(text, few_lanes(end));
    const auto expected = train(plan);
    const std::array policies{dispatch_policy::on_demand, dispatch_policy::round_robin,
                              dispatch_policy::by_lane};
    interrupted_job job{plan};
    for (int i = 0; i < 10; ++i)
      job.run({.steps = random() % 4 == 0 ? 0 : random() % (expected.batches.size() / 4),
               .workers = random() % 4,
               .dispatch = policies[random() % 3]});
    job.run({});
    REQUIRE(difference_of(expected, job.trained()) == "");
  });
}

TEST_CASE("conformance: after the end of a job there is nothing, or the next epoch") {
  for_all([](const std::string& text, const std::string& end) {
    if (end == "cycle")
      return;
    const auto plan = plan_of(text, few_lanes(end));
    const auto expected = train(plan);
    auto first = plan;
    first.epochs = 1;
    interrupted_job job{first};
    job.run({});
    const auto batches = job.trained().batches.size();
    job.run({.workers = 1});
    REQUIRE(job.trained().batches.size() == batches);
    job.set_epochs(plan.epochs);
    job.run({});
    REQUIRE(difference_of(expected, job.trained()) == "");
  });
}

TEST_CASE("conformance: rescaled from 8 ranks to 6, 3 and 8 again") {
  for_all([](const std::string& text, const std::string& end) {
    const auto how = many_lanes(end);
    // As many items in each lane as it takes for states to differ from beginnings.
    const auto plan = plan_of(is_once(text) ? text : text + ".repeat(3)", how);
    const auto expected = train(plan);
    check_places(expected, how);
    const auto quarter = expected.batches.size() / 4;
    interrupted_job job{plan};
    job.run({.steps = quarter, .world_size = 8});
    job.run({.steps = quarter, .world_size = 6, .workers = 1});
    job.run({.steps = quarter, .world_size = 3, .workers = 2});
    job.run({.world_size = 8});
    REQUIRE(difference_of(expected, job.trained()) == "");
  });
}

void check_refused(const std::function<void()>& f, errc code, const std::string& text) {
  const auto problem = problem_of(f);
  REQUIRE(problem);
  CAPTURE(problem->what());
  REQUIRE(problem->code() == code);
  REQUIRE(std::string{problem->what()}.find(text) != std::string::npos);
}

std::vector<epoch_agreement> agree_alone(const epoch_agreement& x) {
  return {x};
}

TEST_CASE("conformance: other numbers of ranks are refused, and so are parts that do not belong") {
  for_all([](const std::string& text, const std::string& end) {
    if (is_indexed(text))
      return; // without state, any world size will do
    const auto plan = plan_of(text, many_lanes(end));
    interrupted_job job{plan};
    job.run({.steps = 1, .world_size = 8});
    if (job.trained().failure)
      return; // there are lanes without items, which the end rule does not allow
    auto parts = job.parts();
    const auto data = job.open();
    for (const std::uint64_t world : {5, 7, 9, 16, 48})
      check_refused(
          [&] {
            loader{data, {.world_size = world, .agree = agree_alone}};
          },
          errc::invalid_argument, "1, 2, 3, 4, 6, 8, 12 or 24");
    loader fresh{data, {.world_size = 1}};
    const auto other = fresh.snapshot();
    if (decode(parts[0], "").lanes.empty())
      return; // at the beginning of an epoch there is no state that could be missing
    const auto fourth = parts[3];
    parts.erase(parts.begin() + 3);
    check_refused([&] { fresh.restore_parts(parts); }, errc::bad_snapshot, "of rank 3");
    parts.push_back(parts[0]);
    check_refused([&] { fresh.restore_parts(parts); }, errc::bad_snapshot, "rank 0");
    parts.back() = other;
    check_refused([&] { fresh.restore_parts(parts); }, errc::bad_snapshot, "");
    parts.back() = fourth; // in any order
    fresh.restore_parts(parts);
    REQUIRE(fresh.position().step == 1);
  });
}

TEST_CASE("conformance: any number of workers and any dispatch give the same batches") {
  constexpr std::array shapes{leg{.workers = 1, .dispatch = dispatch_policy::on_demand},
                              leg{.workers = 2, .dispatch = dispatch_policy::by_lane},
                              leg{.workers = 5, .dispatch = dispatch_policy::round_robin},
                              leg{.workers = 16, .dispatch = dispatch_policy::on_demand}};
  for_all([&](const std::string& text, const std::string& end) {
    const auto plan = plan_of(text, few_lanes(end));
    const auto expected = train(plan);
    for (const auto& shape : shapes) {
      CAPTURE(shape.workers);
      REQUIRE(difference_of(expected, train(plan, shape)) == "");
    }
  });
}

/// Items that shuffle buffers hold, over all lanes.
std::uint64_t buffered(const std::string& text) {
  std::uint64_t n = 0;
  for_each_operator(parse_pipeline(text).root(), [&](const operator_node& x) {
    if (x.op == "shuffle_buffer")
      n += x.get<std::uint64_t>("n");
  });
  return n;
}

/// Apart from the others: these batches have rows without a sample whatever the end rule, and their
/// own rules for rows.
TEST_CASE("conformance: batches by tokens, broken off and resumed on other ranks") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  prepare();
  for (const std::string text :
       {R"(json_lines("docs-*.jsonl", ranges=8).token_budget("tokens", 240, rows=48))",
        R"(lines("book-*.txt", ranges=8).filter("field_hash@1", field="text", keep=80))"
        R"(.shuffle_buffer(60).token_budget("text", 200, rows=48, padded=true))"})
    for (const std::string end : {"drop", "mask", "cycle"})
      for (const std::uint64_t lanes : {4, 24}) {
        const auto plan = plan_of(text, {48, lanes, end});
        const auto expected = train(plan);
        CAPTURE(text, end, lanes, expected.failure);
        REQUIRE(expected.batches.size() > 3);
        REQUIRE(std::any_of(expected.batches.begin(), expected.batches.end(),
                            [](const auto& x) { return x.step.rows.size() + x.bad_rows < 48; }));
        REQUIRE(difference_of(expected, train(plan, {.world_size = 2, .workers = 2})) == "");
        for (int round = 0; round < 3; ++round) {
          interrupted_job job{plan};
          for (int leg = 0; leg < 4; ++leg)
            job.run({.steps = random() % (expected.batches.size() / 4),
                     .world_size = lanes == 4 ? 1ULL << (random() % 3) : 1 + random() % 4,
                     .workers = random() % 3});
          job.run({.world_size = 2});
          REQUIRE(difference_of(expected, job.trained()) == "");
        }
      }
}

TEST_CASE("conformance: a snapshot is below 2 KB a lane and 64 bytes a buffered reference") {
  for_all([](const std::string& text, const std::string& end) {
    for (const auto& how : {few_lanes(end), many_lanes(end)}) {
      CAPTURE(how.lanes);
      for (const auto& batch : train(plan_of(text, how)).batches)
        REQUIRE(batch.parts.at(0).size() < 2048 * how.lanes + 64 * buffered(text));
    }
  });
}

TEST_CASE("conformance: fewer samples than lanes") {
  for_all([](const std::string& text, const std::string& end) {
    const auto short_text = text + ".take(5)";
    const auto plan = plan_of(short_text, many_lanes(end));
    const auto expected = train(plan);
    REQUIRE(difference_of(expected, train(plan, {.world_size = 8, .workers = 1})) == "");
    if (end != "mask") {
      REQUIRE(expected.failure == errc::empty_epoch);
      REQUIRE(expected.batches.empty());
      return;
    }
    REQUIRE(expected.batches.size() == plan.epochs);
    for (const auto& x : expected.batches)
      REQUIRE((x.step.rows.size() > 0 && x.step.rows.size() + x.bad_rows <= 5));
    for (std::size_t steps = 0; steps <= expected.batches.size(); ++steps) {
      interrupted_job job{plan};
      job.run({.steps = steps, .world_size = 3});
      job.run({.world_size = 8});
      REQUIRE(difference_of(expected, job.trained()) == "");
    }
  });
}

TEST_CASE("conformance: no sample at all is an error, for every end and any number of ranks") {
  for_all([](const std::string& text, const std::string& end) {
    const interrupted_plan plan{.text = with_batch(text + ".skip(100000)", many_lanes(end)),
                                .steps = 9};
    for (const leg& how : {leg{}, leg{.workers = 2}, leg{.world_size = 8}}) {
      const auto trained = train(plan, how);
      REQUIRE(trained.batches.empty());
      REQUIRE(trained.failure == errc::empty_epoch);
    }
  });
}

} // namespace
} // namespace leat::test::conformance_test
