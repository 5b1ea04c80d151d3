#include "runtime/order/sample_key.hpp"
#include "runtime/rows/row_runner.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

#include <leat/order.hpp>
#include <leat/sources.hpp>

namespace leat::row_runner_test {
namespace {

constexpr std::uint64_t records = 24;
constexpr std::uint64_t lanes = 4;

/// Runs all rows of one epoch as one batch, as a worker would.
struct epoch_run {
  std::shared_ptr<job_plan> plan;
  std::shared_ptr<worker_record> record = std::make_shared<worker_record>();
  std::shared_ptr<batch_slot> slot;

  explicit epoch_run(const pipeline& data, bad_sample_policy policy = bad_sample_policy::fail,
                     std::uint64_t epoch = 0)
      : plan(std::make_shared<job_plan>(plan_job(data))), data_(data),
        order_(test::order_of(data, epoch)) {
    plan->bad_samples = policy;
    plan->hash_pixels = true;
    indexed_order order{plan->shape, 0, 1, epoch + 1, {epoch, 0}};
    slot = std::make_shared<batch_slot>(plan->layout, records);
    open_next(order, *slot);
  }

  row_result& run(std::size_t row) {
    auto& result = slot->result(row);
    result.clear();
    function_.run(slot->request(row), places_.at(slot->memory(), row), result);
    return result;
  }

  /// Runs a row that fails.
  error failure(std::size_t row) {
    auto& result = run(row);
    REQUIRE(result.failure);
    return *result.failure;
  }

  /// Rows from the last to the first, if `backwards`.
  batch_slot& run_all(bool backwards = false) {
    for (std::size_t i = 0; i < slot->num_rows(); ++i)
      run(backwards ? slot->num_rows() - 1 - i : i);
    slot->close();
    return *slot;
  }

  std::string id(std::uint64_t number) const {
    std::string text;
    test::source_of(data_).append_id(number, text);
    return text;
  }

  /// The record of an item of the epoch.
  std::uint64_t record_of(std::uint64_t item) const { return order_.record(item); }
  std::uint64_t own(std::size_t row) const { return record_of(slot->request(row).position); }

  /// Element i of the only dense field of each row.
  template <class T>
  std::vector<T> column() const {
    std::vector<T> result(slot->num_rows());
    std::memcpy(result.data(), slot->memory().dense(0), result.size() * sizeof(T));
    return result;
  }

private:
  pipeline data_;
  epoch_order order_;
  row_runner function_{plan, record};
  row_places places_;
};

pipeline stored_numbers() {
  return from_function("numbers@1", records,
                       [](std::uint64_t i, sample& s) { s.set("n", std::int64_t(i)); });
}

pipeline numbers() {
  return stored_numbers().shuffle({.seed = 9});
}

pipeline batched(const pipeline& x) {
  return x.batch(records, {.lanes = lanes});
}

/// Every third record is bad, except record 0, from which the layout is learned.
bool is_bad(std::int64_t number) {
  return number % 3 == 1;
}

pipeline partly_bad() {
  return batched(numbers().map("check@1", [](sample& s, context&) {
    if (is_bad(s.get<std::int64_t>("n")))
      throw bad_sample(cause::corrupt, "one in three");
  }));
}

TEST_CASE("row_runner: a good row has its sample, its digest and its hash of pixels") {
  epoch_run x{batched(numbers())};
  const auto& slot = x.run_all();
  CHECK(slot.summary().num_valid == records);
  for (std::size_t i = 0; i < records; ++i) {
    const auto& row = slot.result(i);
    CHECK(row.delivered == epoch_item{i, 0});
    CHECK(x.column<std::int64_t>()[i] == std::int64_t(x.own(i)));
    CHECK(row.digest == row_digest(0, i, x.id(x.own(i))));
  }
}

TEST_CASE("row_runner: pixels are hashed as docs/digest.md says") {
  auto data = from_function("one@1", 6, [](std::uint64_t, sample& s) {
                s.set("txt", "hey");
                s.set("n", std::int32_t{-3});
                const std::vector<std::uint8_t> a{1, 2};
                s.set<std::uint8_t>("a", a, {2});
              }).batch(6);
  epoch_run x{data};
  CHECK(to_string(x.run(5).pixels) == "3bb49767a08c4e508c24e2a475710758");
}

TEST_CASE("row_runner: a substitute is a good sample of the same lane, with its own id") {
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    epoch_run x{partly_bad(), bad_sample_policy::substitute, epoch};
    const auto& slot = x.run_all();
    REQUIRE(slot.summary().num_valid == records);
    std::size_t bad = 0;
    for (std::size_t i = 0; i < records; ++i) {
      const auto& row = slot.result(i);
      const auto value = x.column<std::int64_t>()[i];
      REQUIRE(value == static_cast<std::int64_t>(x.record_of(row.delivered.item)));
      REQUIRE_FALSE(is_bad(value));
      REQUIRE(row.digest == row_digest(epoch, i, x.id(x.record_of(row.delivered.item))));
      if (!is_bad(std::int64_t(x.own(i)))) {
        REQUIRE(row.delivered == epoch_item{i, epoch});
        continue;
      }
      REQUIRE(slot.summary().bad.at(bad).id == x.id(x.own(i)));
      REQUIRE(slot.summary().bad[bad].why == cause::corrupt);
      REQUIRE(slot.summary().bad[bad++].substitute == x.id(x.record_of(row.delivered.item)));
      std::set<std::uint64_t> lane;
      for (std::uint64_t k = 0; k < x.plan->shape.lane_items(i % lanes); ++k)
        lane.insert(i % lanes + k * lanes);
      REQUIRE(lane.count(row.delivered.item) == 1);
      REQUIRE(row.delivered.epoch == epoch);
    }
    REQUIRE(bad == slot.summary().bad.size());
  }
}

TEST_CASE("row_runner: substitutes do not depend on who makes the rows, or in which order") {
  epoch_run a{partly_bad(), bad_sample_policy::substitute};
  epoch_run b{partly_bad(), bad_sample_policy::substitute};
  a.run_all();
  b.run_all(true);
  CHECK(finished(*a.slot) == finished(*b.slot));
}

TEST_CASE("row_runner: a lane without a good sample fails, and tells what was wrong at first") {
  auto data = batched(numbers()
                          .map("first@1",
                               [](sample&, context& c) {
                                 if (c.position() == 2)
                                   throw std::runtime_error("the first problem");
                               })
                          .map("second@1", [](sample&, context&) {}));
  epoch_run x{data, bad_sample_policy::substitute};
  // Its substitutes run at the same position, and fail, too.
  const auto failure = x.failure(2);
  CHECK(failure.code() == errc::bad_sample);
  CHECK(failure.details().stage == "first@1");
  CHECK(failure.details().got
        == "function_error: the first problem; no good substitute in its lane");
}

TEST_CASE("row_runner: whatever a function throws is a bad sample with its text") {
  const std::vector<std::tuple<std::function<void()>, cause, std::string>> all{
      {[] { throw bad_sample(cause::too_large, "big"); }, cause::too_large, "big"},
      {[] { throw std::logic_error("logic"); }, cause::function_error, "logic"},
      {[] { throw 42; }, cause::function_error, "threw something other than a std::exception"},
      {[] { throw error(errc::io, {.file = "label.txt"}); }, cause::function_error,
       "input/output: file label.txt"},
  };
  for (const auto& [action, why, text] : all)
    for (bool in_source : {false, true}) {
      CAPTURE(text, in_source);
      if (in_source && text == "input/output: file label.txt")
        continue; // raised by sources: see below
      auto raise = [&, &act = action](bool here, std::int64_t n) {
        if (here && n == 5)
          act();
      };
      auto data = batched(from_function("source@1", records, [&](std::uint64_t i, sample& s) {
                            s.set("n", std::int64_t(i));
                            raise(in_source, std::int64_t(i));
                          }).map("map@1", [&](sample& s, context&) {
        raise(!in_source, s.get<std::int64_t>("n"));
      }));
      epoch_run masked{data, bad_sample_policy::mask};
      const auto& row = masked.run(5);
      CHECK(row.what == row_result::outcome::masked);
      REQUIRE(row.bad);
      CHECK(row.bad->why == why);
      CHECK(row.bad->text == text);
      CHECK(epoch_run{data}.failure(5).details().stage == (in_source ? "source" : "map@1"));
    }
}

TEST_CASE("row_runner: an error of the store stays one under every policy") {
  auto data = batched(from_function("disk@1", records, [](std::uint64_t i, sample& s) {
    s.set("n", std::int64_t(i));
    if (i == 5)
      throw error(errc::io, {.file = "a.tar", .offset = 7});
  }));
  for (auto policy :
       {bad_sample_policy::fail, bad_sample_policy::mask, bad_sample_policy::substitute}) {
    epoch_run x{data, policy};
    auto& slot = x.run_all();
    CHECK(slot.plan().what == batch_plan::kind::failed);
    REQUIRE(slot.plan().failure);
    CHECK(slot.plan().failure->code() == errc::io);
    CHECK(slot.plan().failure->details().offset == 7);
    CHECK(slot.summary().bad.empty());
  }
}

TEST_CASE("row_runner: a store that fails under a substitute fails the row") {
  auto data = from_function("disk@1", 2, [](std::uint64_t i, sample& s) {
                s.set("n", std::int64_t(i));
                if (i == 1)
                  throw error(errc::io, {.file = "a.tar"});
              }).map("map@1", [](sample&, context& c) {
    if (c.epoch() == 1)
      throw std::runtime_error("bad");
  });
  epoch_run x{data.batch(2, {.lanes = 1}), bad_sample_policy::substitute, 1};
  CHECK(x.failure(0).code() == errc::io);
}

/// A map that stores what it draws, under its own name.
pipeline draws(const pipeline& x, const std::string& name, const std::string& field) {
  return x.map(name, [field](sample& s, context& c) { s.set(field, c.rng().bits64()); });
}

/// What was drawn for each record, under the field name.
std::map<std::uint64_t, std::uint64_t> drawn(const pipeline& data, const std::string& field) {
  epoch_run x{data.batch(records, {.lanes = lanes, .fields = {field}})};
  x.run_all();
  std::map<std::uint64_t, std::uint64_t> result;
  for (std::size_t i = 0; i < records; ++i)
    result[x.own(i)] = x.column<std::uint64_t>()[i];
  return result;
}

TEST_CASE("row_runner: a map's random numbers are those of the record, wherever it stands") {
  const auto here = drawn(draws(numbers(), "noise@1", "r"), "r");
  CHECK(here.size() == records);
  std::set<std::uint64_t> values;
  for (const auto& [record, value] : here)
    values.insert(value);
  CHECK(values.size() == records);
  auto unshuffled = stored_numbers().shuffle({.seed = 9, .kind = shuffle_kind::none});
  CHECK(drawn(draws(unshuffled, "noise@1", "r"), "r") == here);
  auto other_seed = stored_numbers().shuffle({.seed = 10});
  CHECK(drawn(draws(other_seed, "noise@1", "r"), "r") != here);
}

TEST_CASE("row_runner: another map changes nobody else's random numbers") {
  const auto alone = drawn(draws(numbers(), "noise@1", "r"), "r");
  const auto before = draws(draws(numbers(), "other@1", "o"), "noise@1", "r");
  const auto after = draws(draws(numbers(), "noise@1", "r"), "other@1", "o");
  CHECK(drawn(before, "r") == alone);
  CHECK(drawn(after, "r") == alone);
  CHECK(drawn(before, "o") == drawn(after, "o"));
  CHECK(drawn(before, "o") != alone);
}

TEST_CASE("row_runner: two maps of one name draw different numbers") {
  const auto twice = draws(draws(numbers(), "noise@1", "a"), "noise@1", "b");
  CHECK(drawn(twice, "a") == drawn(draws(numbers(), "noise@1", "a"), "a"));
  CHECK(drawn(twice, "a") != drawn(twice, "b"));
}

TEST_CASE("row_runner: another version of a map draws different numbers, parameters do not") {
  const auto first = drawn(draws(numbers(), "noise@1", "r"), "r");
  CHECK(drawn(draws(numbers(), "noise@2", "r"), "r") != first);
  const map_stage stage{.name = "noise@1", .parameters = "x=1", .make = [] {
                          return [](sample& s, context& c) { s.set("r", c.rng().bits64()); };
                        }};
  CHECK(drawn(numbers().map(stage), "r") == first);
}

TEST_CASE("job_plan: keys of random numbers are those that its header defines") {
  CHECK(map_stream(7, "noise@1", 0) == 0xfea57a3d20e9a7d8);
  CHECK(map_stream(7, "noise@1", 1) == 0xe045e3539d7ea710);
  CHECK(sample_key_of(0, 3, 0, 1000) == 0x8739becb317e7492);
}

TEST_CASE("row_runner: per_worker makes one function for each worker") {
  int made = 0;
  auto data = batched(numbers().map("counter@1", per_worker([&made] {
                                      ++made;
                                      return [rows = std::int64_t{0}](sample& s, context&) mutable {
                                        s.set("n", rows++);
                                      };
                                    })));
  auto first = std::make_unique<epoch_run>(data);
  epoch_run second{data};
  made = 0; // without the runs that found the layout
  first->run_all();
  second.run_all();
  CHECK(made == 2);
  for (std::size_t i = 0; i < records; ++i) {
    CHECK(first->column<std::int64_t>()[i] == static_cast<std::int64_t>(i));
    CHECK(second.column<std::int64_t>()[i] == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("row_runner: a factory that throws is an error that names its map") {
  for (bool standard : {true, false}) {
    bool broken = false;
    auto data = batched(numbers().map("model@1", per_worker([&broken, standard]() -> map_function {
                                        if (broken && standard)
                                          throw std::runtime_error("no model file");
                                        if (broken)
                                          throw 1;
                                        return [](sample&, context&) {};
                                      })));
    epoch_run x{data, bad_sample_policy::mask};
    broken = true;
    const auto failure = x.failure(0);
    CHECK(failure.code() == errc::invalid_argument);
    CHECK(failure.details().stage == "model@1");
    CHECK(failure.details().got
          == (standard ? "the factory threw: no model file"
                       : "the factory threw: threw something other than a std::exception"));
    CHECK_THROWS_AS(plan_job(data), error);
  }
}

TEST_CASE("row_runner: what it is doing can be seen") {
  std::shared_ptr<worker_record> seen;
  std::size_t stage = 0;
  std::uint64_t item = 0;
  auto data =
      batched(numbers().map("a@1", [](sample&, context&) {}).map("b@1", [&](sample&, context&) {
        if (seen) {
          stage = seen->stage;
          item = seen->item;
        }
      }));
  epoch_run x{data};
  seen = x.record;
  x.run(3);
  CHECK(stage == 2);
  CHECK(item == x.slot->request(3).position);
}

TEST_CASE("job_plan: the layout comes from the first good record") {
  auto data = from_function("late@1", 10, [](std::uint64_t i, sample& s) {
    if (i < 3)
      throw bad_sample(cause::empty, "nothing here");
    s.set("n", std::int64_t(i));
  });
  CHECK(to_string(plan_job(data.batch(5)).layout->fields().at(0)) == "n i64 []");
}

TEST_CASE("job_plan: without a good record the first problem is reported") {
  auto data = from_function("never@1", 10, [](std::uint64_t i, sample&) {
    throw bad_sample(cause::empty, "nothing in " + std::to_string(i));
  });
  const auto x = thrown_by([&] { plan_job(data.batch(5)); });
  CHECK(x.code() == errc::bad_sample);
  CHECK(x.details().got == "nothing in 0");
  CHECK(x.details().sample == "never/0");
}

TEST_CASE("job_plan: batch fields are those that were asked for, and must be there") {
  auto data = numbers().map("two@1", [](sample& s, context&) { s.set("m", 1.5F); });
  CHECK(plan_job(batched(data)).layout->fields().size() == 2);
  const auto chosen = plan_job(data.batch(4, {.fields = {"m"}}));
  REQUIRE(chosen.layout->fields().size() == 1);
  CHECK(chosen.layout->fields()[0].name == "m");
  const auto without = data.batch(4, {.fields = {"image"}});
  CHECK(thrown_by([&] { plan_job(without); }).details().got
        == "batch field \"image\" is not in the sample; "
           "default_field@1(field=\"image\", value=...) sets it");
}

TEST_CASE("job_plan: an epoch without a batch is an error") {
  const auto x = thrown_by([] { plan_job(numbers().batch(records + 1)); });
  CHECK(x.code() == errc::empty_epoch);
  CHECK(x.details().got == "24 samples");
  CHECK_NOTHROW(plan_job(numbers().batch(records + 1, {.end = epoch_end::mask})));
}

} // namespace
} // namespace leat::row_runner_test
