#include "tests/support/drain.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/whole_job.hpp"

// What a map learns of its row: the same whenever its sample is made, and however often.
namespace leat::test::row_context_test {
namespace {

/// Writes everything that its context tells into the sample.
void tell_all(sample& s, context& c) {
  const auto as_number = [](std::uint64_t x) { return static_cast<std::int64_t>(x); };
  const std::array told{as_number(c.epoch()),
                        as_number(c.lane()),
                        as_number(c.lanes()),
                        as_number(c.has_row() ? 1 : 0),
                        as_number(c.has_row() ? c.position() : 0),
                        as_number(c.rng().below(1000))};
  std::copy(told.begin(), told.end(), s.make<std::int64_t>("told", {told.size()}).begin());
}

filter_stage most() {
  return probing("most@1",
                 [](sample& s) { return std::to_integer<int>(s.bytes("value")[0]) % 4 != 0; });
}

pipeline told() {
  return count(60).shuffle({.seed = 3}).map("tell_all@1", tell_all);
}

std::vector<std::pair<std::string, pipeline>> pipelines() {
  return {
      {"filter", told().filter(most())},
      {"two filters", told().filter(most()).map("tell_all@2", tell_all).filter(most())},
      {"filter, buffer", told().filter(most()).shuffle_buffer(8, 1)},
      {"windows", told().flat_map(windows("value", 4))},
      {"filter, copies", told().filter(most()).flat_map(copies(3))},
      {"scan", told().scan(running_count("n"))},
      {"buffer alone", told().shuffle_buffer(8, 1)},
      {"copies alone", told().flat_map(copies(2))},
  };
}

TEST_CASE("row context: a sample that is made again after a restore is told the same") {
  for (const auto& [name, steps] : pipelines()) {
    CAPTURE(name);
    const auto data = steps.batch(4, {.lanes = 2, .end = epoch_end::mask});
    loader whole{data, {.workers = 0, .epochs = 2, .hash_pixels = true}};
    const whole_job all{whole};
    REQUIRE(all.steps.size() > 8);
    for (std::size_t at = 0; at < all.states.size(); ++at) {
      CAPTURE(at);
      loader resumed{data, {.workers = at % 3, .epochs = 2, .hash_pixels = true}};
      resumed.restore_parts({all.states[at]});
      REQUIRE(next_steps(resumed) == tail_of(all.steps, at));
    }
  }
}

TEST_CASE("row context: a map after the last operator that looks at content knows its row") {
  const auto data = told().filter(most()).map("place@1", [](sample& s, context& c) {
    s.set("place", static_cast<std::int64_t>(c.position()));
  });
  loader from{data.batch(4, {.end = epoch_end::mask}), {.workers = 2}};
  std::size_t rows = 0;
  while (const auto x = from.next()) {
    const auto place = x->view<std::int64_t, 1>("place");
    const auto positions = x->positions();
    for (std::size_t i = 0, k = 0; i < x->size(); ++i)
      if (x->valid()[i] != 0) {
        CHECK(place(i) == static_cast<std::int64_t>(positions[k++]));
        ++rows;
      }
  }
  CHECK(rows == 45);
}

TEST_CASE("row context: a map before an operator that looks at content is refused its position") {
  const auto data = count(12)
                        .map("place@1", [](sample&, context& c) { (void)c.position(); })
                        .filter(most())
                        .batch(4, {.end = epoch_end::mask});
  const auto problem = problem_of([&] { loader(data, loader_options{}); });
  REQUIRE(problem);
  CHECK(says(*problem, "position() in a map whose samples a later operator looks at"));
  CHECK(says(*problem, "enumerate()"));
}

TEST_CASE(
    "row context: a position that is asked for only now and then makes a bad sample each time") {
  const auto place = [](sample& s, context& c) {
    if (std::to_integer<int>(s.bytes("value")[0]) % 7 == 6)
      (void)c.position();
  };
  const auto data =
      count(40).map("place@1", place).filter(most()).batch(4, {.end = epoch_end::mask});
  for (const std::size_t workers : {0, 2}) {
    loader from{data, {.workers = workers, .bad_samples = bad_sample_policy::mask}};
    drain(from);
    CHECK(from.stats().bad[static_cast<std::size_t>(cause::function_error)]
          == 5); // 6, 13, 20, 27, 34
  }
}

} // namespace
} // namespace leat::test::row_context_test
