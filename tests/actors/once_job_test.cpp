#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sample/live_source.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"

// Jobs of records that exist once, whose samples have different fields: what is delivered, and what
// is masked, does not depend on who learned the batch's fields, and where.
namespace leat::once_job_test {
namespace {

constexpr std::uint64_t all_records = 120;
constexpr std::uint64_t lanes = 6;

using counter = std::shared_ptr<std::uint64_t>;

/// Numbered from `next` on, whoever asks. Four kinds of samples, in an order that depends on
/// `salt`.
pipeline records(const counter& next, std::uint64_t salt) {
  return once("mixed", [next, salt](sample& into) {
    if (*next == all_records)
      return false;
    const auto n = (*next)++;
    into.set("n", n);
    switch ((n * 2654435761U + salt * 40503U) / 7 % 4) {
    case 0:
      into.make<float>("x", {2})[0] = static_cast<float>(n);
      break;
    case 1:
      into.make<float>("x", {3})[0] = static_cast<float>(n);
      break;
    case 2:
      into.set("x", std::to_string(n));
      break;
    default:
      break;
    }
    return true;
  });
}

pipeline sixth_left_out(const pipeline& x) {
  return x.filter(probing("sixth@1", [](sample& s) { return number_of(s) % 6 != 1; }));
}

using job_maker = std::function<pipeline(const pipeline&)>;

std::vector<job_maker> all_jobs() {
  const batch_options end{.lanes = lanes, .end = epoch_end::mask};
  return {[=](const pipeline& x) { return x.batch(6, end); },
          [=](const pipeline& x) { return x.batch(12, end); },
          [=](const pipeline& x) { return x.shuffle_buffer(30, 3).batch(12, end); },
          [=](const pipeline& x) { return sixth_left_out(x).batch(6, end); },
          [=](const pipeline& x) {
            auto only = end;
            only.fields = {"x"};
            return sixth_left_out(x).shuffle_buffer(12, 5).batch(12, only);
          }};
}

loader_options masked(std::size_t workers) {
  return {.workers = workers, .bad_samples = bad_sample_policy::mask, .hash_pixels = true};
}

/// The steps of a job that is never broken off; each step lists its valid rows.
std::vector<job_step> unbroken(const job_maker& job, std::uint64_t salt, std::uint64_t world = 1,
                               std::size_t workers = 0) {
  test::temporary_directory at;
  const auto data = job(records(std::make_shared<std::uint64_t>(0), salt)).journal(at.path());
  return global_steps(run_ranks(data, masked(workers), world));
}

TEST_CASE("once: ids are UTF-8, whatever a program calls its source") {
  auto next = 0;
  loader x{once("caf\xE9",
                [next](sample& s) mutable {
                  s.set("n", next);
                  return next++ < 4;
                })
               .batch(2),
           {.workers = 0}};
  REQUIRE(x.next()->ids() == std::vector<std::string>{"caf\\xE9/0", "caf\\xE9/1"});
}

TEST_CASE("once: the batch's fields are the same for every world size") {
  for (std::uint64_t salt = 0; salt < 2; ++salt)
    for (const auto& job : all_jobs()) {
      const auto expected = unbroken(job, salt);
      REQUIRE(expected.size() > 7);
      for (const std::uint64_t world : {1, 2, 3, 6}) {
        CAPTURE(salt, world, to_string(job(records(nullptr, salt))));
        for (const std::size_t workers : {0, 1, 2, 8})
          REQUIRE(unbroken(job, salt, world, workers) == expected);
      }
    }
}

/// Records of which only the first ones come. Whoever waits for another is told that it does.
class few_records final : public live_source {
public:
  explicit few_records(std::uint64_t all) : all_(all) {}

  state peek(std::uint64_t number) override {
    return number < all_ ? state::ready : state::pending;
  }
  void wait(std::uint64_t number, const std::atomic<bool>&) override {
    if (number >= all_)
      throw std::runtime_error("waits for record " + std::to_string(number));
  }
  void wake() override {}
  std::function<void()> on_change(std::function<void()>) override {
    return [] {};
  }
  void read(std::uint64_t number, sample& into) const override { into.set("n", number); }
  void append_id(std::uint64_t number, std::string& to) const override {
    to += std::to_string(number);
  }
  void release_below(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void hold_from(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void check_holds(std::uint64_t, std::uint64_t) const override {}
  bool has_journal() const noexcept override { return false; }
  source_facts facts() const override { return {}; }
  std::string name() const override { return "few"; }

private:
  const std::uint64_t all_;
};

/// How many batches a job over the first records of a source hands over before it waits.
std::size_t batches_of_first(std::uint64_t records, std::uint64_t rows, std::uint64_t of_lanes) {
  const auto data = feed_pipeline("once", {{"name", std::string{"few@1"}}},
                                  [records] { return std::make_shared<few_records>(records); });
  loader x{data.batch(rows, {.lanes = of_lanes}), {.workers = 0}};
  for (std::size_t batches = 0;; ++batches)
    try {
      const auto batch = x.next();
      REQUIRE(batch);
    } catch (const std::exception& problem) {
      REQUIRE(std::string{problem.what()}.find("waits for record") != std::string::npos);
      return batches;
    }
}

TEST_CASE("once: a batch is handed over as soon as a record of the next one has come") {
  for (const std::uint64_t of_lanes : {1, 4, 12})
    for (const std::uint64_t batches : {1, 2, 5}) {
      CAPTURE(of_lanes, batches);
      CHECK(batches_of_first(batches * 12, 12, of_lanes) == batches - 1);
      CHECK(batches_of_first(batches * 12 + 1, 12, of_lanes) == batches);
    }
}

TEST_CASE("once: a chain of resumes in other worlds gives the rows of an unbroken job") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  for (std::uint64_t salt = 0; salt < 3; ++salt)
    for (const auto& job : all_jobs()) {
      CAPTURE(salt, to_string(job(records(nullptr, salt))));
      const auto expected = unbroken(job, salt);
      test::temporary_directory at;
      const auto next = std::make_shared<std::uint64_t>(0);
      std::vector<job_step> got;
      std::vector<std::string> parts;
      while (got.size() < expected.size()) {
        const std::uint64_t world = std::vector{1, 2, 3, 6}[random() % 4];
        const auto most = 1 + random() % 5;
        CAPTURE(got.size(), world, most);
        const auto runs = run_ranks(
            job(records(next, salt)).journal(at.path()),
            masked(std::vector{0, 1, 3, 8}[random() % 4]), world,
            [&](loader& x) {
              if (!parts.empty())
                x.restore_parts(parts);
            },
            most);
        const auto steps = global_steps(runs);
        REQUIRE_FALSE(steps.empty());
        parts = parts_after(runs, steps.size() - 1);
        got.insert(got.end(), steps.begin(), steps.end());
      }
      REQUIRE(got == expected);
    }
}

TEST_CASE("once: fields are learned again if a resume is allowed to change them") {
  test::temporary_directory at;
  const auto next = std::make_shared<std::uint64_t>(0);
  std::vector<std::string> parts;
  {
    const auto before = all_jobs()[0](records(next, 1)).journal(at.path());
    const auto runs = run_ranks(before, masked(0), 2, {}, 3);
    parts = parts_after(runs, 2);
  }
  std::vector<job_step> expected;
  for (const std::uint64_t world : {1, 3, 6}) {
    CAPTURE(world);
    const auto data = all_jobs()[0](records(next, 1).map("y@1", [](sample& s, context&) {
                        s.set("y", 1.0F);
                      })).journal(at.path());
    const auto got = global_steps(run_ranks(
        data, masked(1), world, [&](loader& x) { x.restore_parts(parts, {.allow = {"maps"}}); }));
    if (expected.empty())
      expected = got;
    REQUIRE(got.size() == all_records / 6 - 3);
    REQUIRE(got == expected);
  }
  // One part says nothing of the other lanes.
  loader x{all_jobs()[0](records(next, 1).map("z@1", [](sample&, context&) {})).journal(at.path()),
           {.world_size = 2, .agree = [](auto& mine) {
              return std::vector{mine, mine};
            }}};
  REQUIRE(code_of([&] { x.restore_parts({parts[0]}, {.allow = {"maps"}}); }) == errc::bad_snapshot);
}

pipeline plain(const counter& next) {
  return records(next, 0).map("select@1", [](sample& s, context&) { s.erase("x"); });
}

TEST_CASE("once: a journal that is gone is refused at once, however early the snapshot") {
  for (const std::size_t steps : {1, 3, 15})
    for (const bool buffered : {false, true}) {
      CAPTURE(steps, buffered);
      test::temporary_directory at;
      const auto next = std::make_shared<std::uint64_t>(0);
      const auto job = [&] {
        auto x = plain(next);
        if (buffered)
          x = x.shuffle_buffer(24, 3);
        return x.batch(6, {.lanes = lanes, .end = epoch_end::mask}).journal(at.path());
      };
      std::string state;
      {
        loader x{job(), {}};
        for (std::size_t i = 0; i < steps; ++i) {
          const auto batch = x.next();
          REQUIRE(batch);
          state = batch->snapshot();
        }
      }
      std::filesystem::remove_all(at / "mixed-0");
      *next = 0;
      loader x{job(), {}};
      check_refusal([&] { x.restore_parts({state}); }, errc::mismatch, {"journal"});
    }
}

/// A stream that has fewer records than were handed over.
class short_reader final : public sequential_reader {
public:
  explicit short_reader(std::uint64_t end) : end_(end) {}
  bool next(sample& into) override {
    if (at_ >= end_)
      return false;
    into.set("n", at_++);
    return true;
  }
  std::optional<std::string> save() const override { return std::nullopt; }
  void load(const std::string&) override {}

private:
  std::uint64_t end_;
  std::uint64_t at_ = 0;
};

TEST_CASE("once: data that end before what a snapshot has consumed are an error with a sentence") {
  for (const std::size_t workers : {0, 1}) {
    CAPTURE(workers);
    const auto job = [](std::uint64_t records_a_unit) {
      return sequential(
                 "units@1", 2,
                 [=](std::uint64_t) { return std::make_unique<short_reader>(records_a_unit); })
          .batch(4, {.lanes = 2, .end = epoch_end::mask});
    };
    std::string state;
    {
      loader x{job(20), {.workers = 0}};
      for (int i = 0; i < 5; ++i)
        state = x.next()->snapshot();
    }
    loader x{job(3), {.workers = workers}};
    x.restore_parts({state});
    check_refusal([&] { x.next(); }, errc::mismatch, {"3 items"});
  }
}

} // namespace
} // namespace leat::once_job_test
