#include "tests/support/id_rows.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>

namespace leat::set_weights_test {
namespace {

constexpr std::uint64_t steps = 30;
constexpr std::uint64_t changed_at = 11;
const std::vector<double> changed{0.1, 0.9};

/// Lanes of a few batches per epoch; weights change the order above a buffer, and where a filter
/// takes content from another round.
class jobs {
public:
  jobs() {
    const std::vector<std::pair<const char*, std::size_t>> files{
        {"a.txt", 60}, {"b.txt", 60}, {"c.txt", 3000}, {"d.txt", 3000}};
    for (const auto& [name, number] : files) {
      std::ofstream out{directory_ / name};
      for (std::size_t i = 0; i < number; ++i)
        out << std::string(1 + 7 * (i + number % 7) % 11, 'x') << i << '\n';
    }
  }

  pipeline source(const char* name) const { return lines(directory_ / name, {.ranges = 4}); }

  std::vector<pipeline> all() const {
    const auto judged = [&](const char* name) {
      return source(name).filter(field_hash("text", 60));
    };
    std::vector<pipeline> result;
    for (const auto stop : {mix_stop::all, mix_stop::cycle})
      for (const auto rule : {mix_rule::deficit, mix_rule::random}) {
        const mix_options options{
            .weights = {2, 1}, .rule = rule, .stop = stop, .seed = 4, .schedule = {{19, {1, 0}}}};
        result.push_back(mix({source("a.txt"), source("b.txt")}, options));
        result.push_back(mix({judged("a.txt"), judged("b.txt")}, options).shuffle_buffer(20, 3));
      }
    result.push_back(
        mix({source("a.txt"), source("b.txt")},
            {.weights = {0.5, 1.5}, .cost = "text", .schedule = {{4, {1, 1}}, {15, {3, 1}}}})
            .filter(key_hash(60)));
    for (auto& x : result)
      x = x.batch(8, {.lanes = 4, .end = epoch_end::cycle});
    return result;
  }

  /// Where an item is searched for so long that states are taken in the middle of it.
  pipeline searching() const {
    const auto many = [&](const char* name) { return lines(directory_ / name, {.ranges = 2}); };
    return mix({many("c.txt").filter(field_hash("text", 90)),
                many("d.txt").filter(field_hash("text", 90))})
        .filter(key_hash(3))
        .batch(2, {.lanes = 2, .end = epoch_end::cycle});
  }

private:
  test::temporary_directory directory_;
};

id_rows previewed(const pipeline& data, const std::vector<weight_change>& changes) {
  id_rows result;
  order_preview due{data, {.weights = changes}};
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto batch = due.next();
    for (std::size_t i = 0; i < batch->ids.size(); ++i)
      result.emplace(std::pair{step, batch->positions[i]}, batch->ids[i]);
  }
  return result;
}

loader_options options_of(std::size_t workers, std::uint64_t rank = 0, std::uint64_t world = 1) {
  return {.rank = rank, .world_size = world, .workers = workers, .steps = steps};
}

TEST_CASE(
    "set_weights: said in mid-run, it gives what a job gives that knew it from the beginning") {
  const jobs x;
  for (const auto& data : x.all()) {
    CAPTURE(to_string(data));
    const auto due = previewed(data, {{changed_at, changed}});
    REQUIRE(due != previewed(data, {}));
    for (const std::size_t workers : {0, 2})
      for (std::uint64_t said = 0; said <= changed_at; ++said) {
        CAPTURE(workers, said);
        loader job{data, options_of(workers)};
        id_rows got;
        for (std::uint64_t step = 0; step < steps; ++step) {
          if (step == said)
            job.set_weights(changed, changed_at);
          keep(got, *job.next());
        }
        REQUIRE(got == due);
      }
  }
}

TEST_CASE(
    "set_weights: snapshots say it, wherever the job is broken off, for any number of ranks") {
  const jobs x;
  for (const auto& data : x.all()) {
    CAPTURE(to_string(data));
    const auto due = previewed(data, {{changed_at, changed}});
    for (std::uint64_t stop = 0; stop <= steps; ++stop) {
      CAPTURE(stop);
      id_rows got;
      std::vector<std::string> parts;
      for (std::uint64_t rank = 0; rank < 2; ++rank) {
        loader begun{data, options_of(rank, rank, 2)};
        for (std::uint64_t step = 0; step < stop; ++step) {
          auto batch = begun.next();
          keep(got, *batch);
          if (step + 1 == std::min(stop, changed_at)) {
            begun.set_weights(changed, changed_at);
            if (step + 1 == stop)
              parts.push_back(batch->snapshot()); // of a batch that was there before
          }
        }
        if (stop == 0)
          begun.set_weights(changed, changed_at);
        if (parts.size() == rank)
          parts.push_back(begun.snapshot());
      }
      REQUIRE(inspect_snapshot(parts).weights.size() == 1);
      for (std::uint64_t rank = 0; rank < 4; ++rank) {
        loader resumed{data, options_of(0, rank, 4)};
        resumed.restore_parts(parts);
        keep_rest(got, resumed);
      }
      REQUIRE(got == due);
    }
  }
}

TEST_CASE("set_weights: at a resume, from the very step that it resumes with") {
  const jobs x;
  auto pipelines = x.all();
  pipelines.push_back(x.searching());
  for (const auto& data : pipelines) {
    CAPTURE(to_string(data));
    for (std::uint64_t stop = 1; stop < steps; ++stop) {
      CAPTURE(stop);
      const auto due = previewed(data, {{stop, changed}});
      loader begun{data, options_of(stop % 3)};
      id_rows got;
      for (std::uint64_t step = 0; step < stop; ++step)
        keep(got, *begun.next());
      loader resumed{data, options_of(0)};
      resumed.restore_parts({begun.snapshot()});
      resumed.set_weights(changed);
      keep_rest(got, resumed);
      REQUIRE(got == due);
    }
  }
}

/// Ids of each step, as "a0 b0": a and b are the inputs of this mix.
std::vector<std::string> ids_of(const mix_options& options, std::uint64_t lanes,
                                const std::vector<weight_change>& changes = {}) {
  const auto data = mix({count(40), count(90).skip(50)}, options)
                        .batch(4, {.lanes = lanes, .end = epoch_end::cycle});
  order_preview due{data, {.weights = changes}};
  std::vector<std::string> result;
  for (int step = 0; step < 4; ++step) {
    auto& text = result.emplace_back();
    const auto batch = due.next();
    REQUIRE(batch);
    for (const auto& id : batch->ids) {
      const auto number = std::stoi(id.substr(id.rfind('/') + 1));
      text += (text.empty() ? "" : " ")
              + (number < 50 ? "a" + std::to_string(number) : "b" + std::to_string(number - 50));
    }
  }
  return result;
}

TEST_CASE("a schedule counts shares anew in each phase, as at the beginning of a lane") {
  using ids = std::vector<std::string>;
  CHECK(ids_of({.weights = {3, 1}, .schedule = {{1, {1, 1}}, {2, {0, 1}}, {3, {1, 3}}}}, 1)
        == ids{"a0 a1 b0 a2", "a3 b1 a4 b2", "b3 b4 b5 b6", "b7 a5 b8 b9"});
  // Lane 1 begins each phase as if one item had been taken.
  CHECK(ids_of({.weights = {1, 1}, .schedule = {{1, {3, 1}}, {2, {1, 1}}}}, 2)
        == ids{"a0 b1 b0 a1", "a2 a3 a4 b3", "a6 b5 b2 a5", "a8 b7 b4 a7"});
}

TEST_CASE("a job's change holds up to the next of the schedule, and at one step instead of it") {
  using ids = std::vector<std::string>;
  const mix_options options{.weights = {1, 0}, .schedule = {{2, {0, 1}}}};
  CHECK(ids_of(options, 1) == ids{"a0 a1 a2 a3", "a4 a5 a6 a7", "b0 b1 b2 b3", "b4 b5 b6 b7"});
  CHECK(ids_of(options, 1, {{1, {0, 1}}, {3, {1, 0}}})
        == ids{"a0 a1 a2 a3", "b0 b1 b2 b3", "b4 b5 b6 b7", "a4 a5 a6 a7"});
  CHECK(ids_of(options, 1, {{2, {2, 0}}})
        == ids{"a0 a1 a2 a3", "a4 a5 a6 a7", "a8 a9 a10 a11", "a12 a13 a14 a15"});
}

TEST_CASE("set_weights: several changes, and the job started over with all of them") {
  const jobs x;
  const auto data = x.all().front();
  const std::vector<weight_change> changes{{3, {1, 0}}, {8, {0, 1}}, {21, {1, 1}}};
  const auto due = previewed(data, changes);
  loader job{data, options_of(2)};
  id_rows got;
  for (const auto& change : changes) {
    while (job.position().global_step < change.step)
      keep(got, *job.next());
    job.set_weights(change.weights);
    job.set_weights(change.weights, change.step); // once more
  }
  keep_rest(got, job);
  CHECK(got == due);
  job.rewind();
  got.clear();
  keep_rest(got, job);
  CHECK(got == due);
}

TEST_CASE("set_weights: refuses what cannot be exact") {
  const jobs x;
  const auto refused = [](const pipeline& data, std::vector<double> weights,
                          std::optional<std::uint64_t> from, loader_options options = {}) {
    loader job{data, std::move(options)};
    return code_of([&] { job.set_weights(weights, from); }) == errc::invalid_argument;
  };
  const auto two = [&] { return mix({x.source("a.txt"), x.source("b.txt")}); };
  const batch_options endless{.lanes = 4, .end = epoch_end::cycle};
  CHECK_FALSE(refused(two().batch(8, endless), {1, 2}, 5));
  CHECK(refused(two().batch(8, endless), {1}, 5));
  CHECK(refused(two().batch(8, endless), {0, 0}, 5));
  CHECK(refused(two().batch(8, endless), {1, 2}, {}, {.world_size = 2}));
  CHECK(refused(two().batch(8, {.lanes = 4, .end = epoch_end::mask}), {1, 2}, 5));
  CHECK(refused(x.source("a.txt").batch(8, endless), {1, 2}, 5));
  CHECK(refused(mix({two(), two()}).batch(8, endless), {1, 2}, 5));
  CHECK(refused(two().pack("text", 16).batch(8, endless), {1, 2}, 5));
  const auto by_cost =
      mix({x.source("a.txt"), x.source("b.txt")},
          {.cost = "text", .schedule = {{9, {1, 2}}}, .schedule_by = mix_schedule::cost});
  CHECK(refused(by_cost.batch(8, endless), {1, 2}, 5));
  CHECK(code_of([&] {
          order_preview{two().batch(8, endless), {.weights = {{1, {1}}}}};
        })
        == errc::invalid_argument);

  loader job{two().batch(8, endless), options_of(0)};
  job.set_weights({1, 2}, 2);
  for (int i = 0; i < 4; ++i)
    REQUIRE(job.next());
  CHECK(code_of([&] { job.set_weights({1, 2}, 3); }) == errc::invalid_argument);
  CHECK(code_of([&] { job.set_weights({1, 3}, 2); }) == errc::invalid_argument);
  CHECK_NOTHROW(job.set_weights({0.1, 0.2}, 2)); // the same
  const auto part = job.snapshot();
  loader other{two().batch(8, endless), options_of(0)};
  other.set_weights({1, 3}, 2);
  CHECK(code_of([&] { other.restore_parts({part}); }) == errc::invalid_argument);
}

TEST_CASE("a schedule is refused where steps cannot be told, and in falling order") {
  const jobs x;
  const auto scheduled = [&](std::vector<weight_change> schedule) {
    return mix({x.source("a.txt"), x.source("b.txt")}, {.schedule = std::move(schedule)});
  };
  const auto refused = [](const auto& make) { return code_of(make) == errc::invalid_argument; };
  CHECK(refused([&] { scheduled({{0, {1, 1}}}); }));
  CHECK(refused([&] { scheduled({{5, {1, 1}}, {5, {1, 2}}}); }));
  CHECK(refused([&] { scheduled({{5, {1}}}); }));
  CHECK(refused([&] { order_preview{scheduled({{5, {1, 2}}}).pack("text", 16).batch(8)}; }));
  CHECK_FALSE(refused([&] { order_preview{scheduled({{5, {1, 2}}}).batch(8, {.lanes = 4})}; }));
  const auto by_cost =
      mix({x.source("a.txt"), x.source("b.txt")},
          {.cost = "text", .schedule = {{5, {1, 2}}}, .schedule_by = mix_schedule::cost});
  CHECK_FALSE(refused([&] { order_preview{by_cost.pack("text", 16).batch(8, {.lanes = 4})}; }));
}

} // namespace
} // namespace leat::set_weights_test
