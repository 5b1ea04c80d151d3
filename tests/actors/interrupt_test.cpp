#include "actors/actor_engine.hpp"
#include "tests/support/blocked_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/job.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

// A next() that waits, and is told to end.
namespace leat::test::interrupt_test {
namespace {

errc code_of_next(loader& x) {
  return code_of([&] { x.next(); }).value_or(errc{});
}

TEST_CASE("interrupt ends a next() that waits for records, and the snapshot says where it was") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    const temporary_directory at;
    const auto job_of = [&](const pipeline& records) {
      return records.batch(4, {.lanes = 2, .end = epoch_end::drop}).journal(at / "journal");
    };
    blocked_source source{10};
    std::string state;
    {
      loader job{job_of(source.data()), {.workers = workers}};
      REQUIRE(job.next()); // known not to be the last
      std::jthread interrupter{[&] {
        source.wait();
        job.interrupt();
      }};
      // The second batch may be handed over before that, or not.
      while (code_of_next(job) != errc::interrupted) {
      }
      REQUIRE(code_of_next(job) == errc::interrupted);
      state = job.snapshot();
      REQUIRE(job.position().step <= 2);
      REQUIRE(job.position().step == job.stats().batches);
      source.let_go();
    }
    loader again{job_of(once("blocked", [](sample&) { return false; })), {.workers = workers}};
    const auto here = again.restore_parts({state});
    std::uint64_t records = 4 * here.step;
    while (auto batch = again.next())
      records += batch->valid_rows();
    REQUIRE(records == 8);
  }
}

TEST_CASE("interrupt ends a next() that waits for a function of the pipeline") {
  std::promise<void> runs;
  std::atomic<bool> has_begun = false;
  const auto slow = [&](sample&, context& in) {
    if (in.position() != 9)
      return;
    if (!has_begun.exchange(true))
      runs.set_value();
    while (!in.cancelled())
      std::this_thread::yield();
  };
  loader job{count(40).map("slow@1", slow).batch(4), {.workers = 2}};
  std::jthread interrupter{[&] {
    runs.get_future().wait();
    job.interrupt();
  }};
  while (code_of_next(job) != errc::interrupted) {
  }
  REQUIRE(job.position().step <= 2);
}

TEST_CASE("a loader that is interrupted before it begins gives nothing") {
  for (const std::size_t workers : {0, 1}) {
    loader job{count(40).batch(4), {.workers = workers}};
    job.interrupt();
    REQUIRE(code_of_next(job) == errc::interrupted);
    REQUIRE(job.position().step == 0);
  }
}

/// The code of a call that must not wait; if it does, `rescue` ends it.
template <class Call, class Rescue>
errc code_at_once(Call call, Rescue rescue) {
  auto running = std::async(std::launch::async, call);
  const bool is_prompt = running.wait_for(std::chrono::seconds{20}) == std::future_status::ready;
  if (!is_prompt)
    rescue();
  CHECK(is_prompt);
  return running.get();
}

errc code_of_next_at_once(loader& x) {
  return code_at_once([&] { return code_of_next(x); }, [&] { x.interrupt(); });
}

TEST_CASE("an engine that begins after the interrupt does not wait for its workers") {
  const auto plan = noisy_plan(64, 8);
  plan->cancelled->store(true);
  const auto metrics = std::make_shared<job_metrics>();
  actor_host host{1};
  actor_engine uut{host,
                   {.plan = plan,
                    .order = order_of_rank(*plan, 1),
                    .rows = rows_of_rank(*plan),
                    .crew = std::make_shared<worker_crew>(0, 1, nullptr),
                    .metrics = metrics,
                    .calls = std::make_shared<call_record>(),
                    .memory = nullptr},
                   {.workers = 2}};
  uut.make_room(1);
  const auto next = [&] { return code_of([&] { uut.next(); }).value_or(errc{}); };
  REQUIRE(code_at_once(next, [&] { uut.interrupt(); }) == errc::interrupted);
}

TEST_CASE("interrupt ends a first next() that learns the fields of the records that came") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    std::promise<void> all_came;
    std::atomic<bool> is_first = true;
    loader* job = nullptr;
    const auto take = [&, n = 0](sample& into) mutable {
      if (n == 40) {
        all_came.set_value();
        return false;
      }
      into.set("n", n++);
      return true;
    };
    const auto stop = [&](sample&, context&) {
      if (!is_first.exchange(false))
        return;
      all_came.get_future().wait(); // no other wait sees it
      job->interrupt();
    };
    loader uut{once("numbers", take).map("stops@1", stop).batch(4, {.end = epoch_end::drop}),
               {.workers = workers}};
    job = &uut;
    REQUIRE(code_of_next_at_once(uut) == errc::interrupted);
    REQUIRE(uut.position().step == 0);
  }
}

/// Two sets of a job, the newer one torn, so that a restore says so in a notice.
void save_two(const pipeline& data, const std::string& directory) {
  loader job{data, {.workers = 0}};
  for (int i = 0; i < 2; ++i)
    job.save(directory, *job.next());
  job.wait_saved();
  std::filesystem::path newest;
  for (const auto& x : std::filesystem::directory_iterator{directory})
    newest = std::max(newest, x.path());
  std::filesystem::resize_file(newest, 20);
}

TEST_CASE("an interrupt before a restore, or in it, holds for each next() after it") {
  for (const bool in_restore : {false, true})
    for (const std::size_t workers : {0, 2}) {
      CAPTURE(in_restore, workers);
      const temporary_directory at;
      const auto data = count(40).batch(4);
      save_two(data, at / "sets");
      loader job{data, {.workers = workers}};
      {
        heard_notices heard{[&] {
          if (in_restore)
            job.interrupt();
        }};
        if (!in_restore)
          job.interrupt();
        REQUIRE(job.restore(at / "sets", {.allow_older = true}));
        REQUIRE(heard.number() == 1);
      }
      REQUIRE(code_of_next_at_once(job) == errc::interrupted);
      REQUIRE(job.position().step == 1);
      job.save(at / "after");
      job.wait_saved();
      loader again{data, {.workers = workers}};
      REQUIRE(again.restore(at / "after")->step == 1);
      REQUIRE(again.next()->step() == 1);
    }
}

TEST_CASE("a run through batches that nothing is missing for can be ended") {
  const auto data =
      count(std::uint64_t{1} << 40).shuffle_buffer(8).batch(4, {.end = epoch_end::drop});
  loader job{data, {.workers = 1}};
  int looks = 0;
  {
    const patience waits{[&] { return ++looks < 3; }, std::chrono::milliseconds{0}};
    REQUIRE(code_of([&] { job.skip_first_batches(100'000); }) == errc::interrupted);
  }
  REQUIRE(looks == 3);
  REQUIRE(job.position().global_step == 0);
  job.interrupt();
  REQUIRE(code_of([&] { job.skip_first_batches(100'000); }) == errc::interrupted);
}

TEST_CASE("while_waiting ends one next(), and the next call gives the batch that it waited for") {
  std::atomic<bool> is_to_wait = true;
  const auto slow = [&](sample&, context& in) {
    while (is_to_wait && in.position() == 5 && !in.cancelled())
      std::this_thread::yield();
  };
  const auto trainer = std::this_thread::get_id();
  bool is_its_thread = true;
  int looks = 0;
  loader job{count(12).map("slow@1", slow).batch(4), {.workers = 2, .while_waiting = [&] {
                                                        is_its_thread &=
                                                            std::this_thread::get_id() == trainer;
                                                        return ++looks % 2 == 0;
                                                      }}};
  std::vector<std::uint64_t> firsts;
  const auto take = [&](const lease& x) { firsts.push_back(x->positions().front()); };
  take(job.next());
  for (int i = 0; i < 2; ++i) {
    REQUIRE(code_of_next(job) == errc::interrupted);
    REQUIRE(job.position().step == 1);
  }
  is_to_wait = false;
  while (firsts.size() < 3)
    try {
      take(job.next());
    } catch (const error& problem) {
      REQUIRE(problem.code() == errc::interrupted);
    }
  REQUIRE_FALSE(job.next());
  REQUIRE(firsts == std::vector<std::uint64_t>{0, 4, 8});
  REQUIRE(is_its_thread);
  REQUIRE(looks >= 3); // twice with false, once with true between them
}

/// The code of a call whose caller asks at every chance, and gives up the third time.
template <class Call>
errc code_of_impatient(Call call) {
  int looks = 0;
  const patience waits{[&] { return ++looks % 3 != 0; }, std::chrono::milliseconds{0}};
  const auto code = code_of(call);
  REQUIRE((!code || looks % 3 == 0));
  return code.value_or(errc{});
}

TEST_CASE("a first next() that waits for records can be given up, and made again") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    std::promise<void> go;
    auto gone = go.get_future().share();
    loader job{once("late",
                    [gone, n = 0](sample& into) mutable {
                      gone.wait();
                      into.set("n", n++);
                      return n <= 12;
                    })
                   .batch(4, {.end = epoch_end::drop}),
               {.workers = workers}};
    for (int i = 0; i < 3; ++i)
      REQUIRE(code_of_impatient([&] { job.next(); }) == errc::interrupted);
    go.set_value();
    std::vector<std::uint64_t> steps;
    while (const auto batch = job.next())
      steps.push_back(batch->step());
    REQUIRE(steps == std::vector<std::uint64_t>{0, 1, 2});
  }
}

/// Samples 0 to n - 1 of many.
pipeline first_of_many(std::uint64_t n) {
  const auto few = probing("few@1", [n](const sample& x) {
    std::uint64_t number = 0;
    std::memcpy(&number, &x.view<std::uint8_t, 1>("value")(0), sizeof number);
    return number < n;
  });
  return count(std::uint64_t{1} << 40).filter(few).batch(4, {.end = epoch_end::drop});
}

TEST_CASE("a loader without workers can be given up in the middle of a batch") {
  loader job{first_of_many(12), {.workers = 0}};
  REQUIRE(job.next()->step() == 0);
  REQUIRE(job.next()->step() == 1);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(code_of_impatient([&] { job.next(); }) == errc::interrupted);
    REQUIRE(job.position().step == 2);
  }
}

TEST_CASE("a seek that is given up leaves the loader where it stood") {
  loader job{first_of_many(12), {.workers = 2}};
  REQUIRE(code_of_impatient([&] { job.seek(0, 1000); }) == errc::interrupted);
  REQUIRE(code_of_impatient([&] { job.skip_first_batches(1000); }) == errc::interrupted);
  REQUIRE(job.position().global_step == 0);
  job.skip_first_batches(1);
  REQUIRE(job.next()->positions().front() == 4);
}

TEST_CASE("a loader that is given up while it is made does not exist") {
  const auto none = [] { loader{first_of_many(0), {}}; };
  REQUIRE(code_of_impatient(none) == errc::interrupted);
}

TEST_CASE("a wait for saves that is given up can be made again") {
  const temporary_directory at;
  loader job{count(40).batch(4), {.workers = 1}};
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto batch = job.next();
    while (code_of_impatient([&] { job.save(at / "sets", *batch); }) == errc::interrupted) {
    }
    while (code_of_impatient([&] { job.wait_saved(); }) == errc::interrupted) {
    }
    loader other{count(40).batch(4), {.workers = 0}};
    REQUIRE(other.restore(at / "sets")->global_step == i + 1);
  }
}

TEST_CASE("errc::interrupted of a map ends the job, whatever the policy for bad samples") {
  const auto ends = [](sample&, context& in) {
    if (in.position() == 5)
      throw error(errc::interrupted, {.stage = "ends", .got = "the end"});
  };
  for (const std::size_t workers : {0, 2}) {
    loader job{count(12).map("ends@1", ends).batch(4),
               {.workers = workers, .bad_samples = bad_sample_policy::mask}};
    REQUIRE(job.next()->positions().front() == 0);
    REQUIRE(code_of_next(job) == errc::interrupted);
    REQUIRE(code_of_next(job) == errc::interrupted);
    REQUIRE(job.position().step == 1);
  }
}

} // namespace
} // namespace leat::test::interrupt_test
