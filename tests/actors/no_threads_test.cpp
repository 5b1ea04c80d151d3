#include "tests/support/catch.hpp"
#include "tests/support/job.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/testing.hpp>

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

// A machine that gives no more threads: from the n-th on, or only not the n-th. Whatever the thread
// was for, the result is an error or the same batches, never a hang, and afterwards everything
// works as before.

namespace {

/// Threads that may still be made; then `failures` fail.
std::atomic<std::int64_t> threads_left{std::numeric_limits<std::int64_t>::max()};
std::atomic<std::int64_t> failures{0};
/// Made, and neither joined nor detached yet.
std::atomic<std::int64_t> threads_that_live{0};

} // namespace

/// Replaces the C library's function in the whole process.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left.fetch_sub(1) <= 0 && failures.fetch_sub(1) > 0)
    return EAGAIN;
  const auto result = real(thread, attributes, run, argument);
  threads_that_live += result == 0 ? 1 : 0;
  return result;
}

extern "C" int pthread_join(pthread_t thread, void** result) {
  static const auto real =
      reinterpret_cast<decltype(&pthread_join)>(dlsym(RTLD_NEXT, "pthread_join"));
  --threads_that_live;
  return real(thread, result);
}

extern "C" int pthread_detach(pthread_t thread) {
  static const auto real =
      reinterpret_cast<decltype(&pthread_detach)>(dlsym(RTLD_NEXT, "pthread_detach"));
  --threads_that_live;
  return real(thread);
}

namespace leat::no_threads_test {
namespace {

/// As long as this lives, `fail` threads after the first `n` cannot be made.
class few_threads {
public:
  few_threads(std::int64_t n, std::int64_t fail) {
    failures = fail;
    threads_left = n;
  }
  ~few_threads() { threads_left = std::numeric_limits<std::int64_t>::max(); }
  few_threads(const few_threads&) = delete;
  few_threads& operator=(const few_threads&) = delete;

  bool was_enough() const { return threads_left >= 0; }
};

struct job {
  std::string name;
  /// Made again for each run, because sources may exist once.
  std::function<pipeline()> data;
};

/// Files that threads of their own unpack.
std::string compressed_files() {
  static const test::temporary_directory at;
  static const bool written = [] {
    for (const std::string name : {"a", "b"}) {
      std::string text;
      for (int i = 0; i < 100; ++i)
        text += name + std::to_string(i) + "\n";
      std::ofstream{at / (name + ".txt.gz"), std::ios::binary} << test::gzip(text);
    }
    return true;
  }();
  return written ? at / "*.txt.gz" : "";
}

std::vector<job> jobs() {
  const auto keep = probing("keep@1", [](sample& s) { return number_of(s) % 3 != 0; });
  return {{"indexed", [] { return numbers(200).shuffle({.seed = 2}).batch(10); }},
          {"iterator",
           [keep] {
             return numbers(200).filter(keep).shuffle_buffer(30, 4).batch(
                 12, {.lanes = 4, .end = epoch_end::mask});
           }},
          {"compressed",
           [] {
             return lines(compressed_files())
                 .shuffle_buffer(30, 4)
                 .map(ragged("text"))
                 .batch(12, {.lanes = 2, .end = epoch_end::mask});
           }},
          {"once", [] { return numbers_once(60).batch(5); }}};
}

/// A whole run, with workers that come, go and die.
std::vector<job_step> run(const job& of, std::size_t workers, const std::string& save_to) {
  loader_options options{.workers = workers, .hash_pixels = true};
  if (workers > 1)
    options.fault = drill({.deaths = {{1, 30}}});
  loader x{of.data(), options};
  std::vector<job_step> steps;
  while (const auto batch = x.next()) {
    append(steps, *batch);
    if (steps.size() == 3 && workers > 0)
      x.resize_workers(workers + 1);
    if (steps.size() == 5 && of.name != "once")
      x.save(save_to, *batch);
  }
  x.wait_saved();
  return steps;
}

TEST_CASE("no threads: an error that says so, or the same batches, and then all is as before") {
  for (const auto& of : jobs())
    for (const std::size_t workers : {0, 1, 2}) {
      std::vector<job_step> expected;
      for (const std::int64_t fail : {std::int64_t{1}, std::numeric_limits<std::int64_t>::max()})
        for (std::int64_t n = 0; n < 40; ++n) {
          CAPTURE(of.name, workers, fail, n);
          test::temporary_directory at;
          std::vector<job_step> got;
          bool was_enough = false;
          const auto problem = problem_of([&] {
            const few_threads limit{n, fail};
            got = run(of, workers, at.path());
            was_enough = limit.was_enough();
          });
          if (problem) {
            CHECK(problem->code() == errc::no_resources);
            CHECK(problem->details().got.starts_with("no more threads ("));
          }
          const auto again = run(of, workers, at / "again");
          if (expected.empty())
            expected = again;
          REQUIRE(again == expected);
          if (!problem)
            REQUIRE(got == expected);
          if (was_enough) {
            REQUIRE(n > 0);
            break;
          }
          REQUIRE(n < 39);
        }
    }
}

TEST_CASE("no threads: a job that ends for lack of them resumes from its last snapshot") {
  const auto data = jobs()[1].data();
  loader whole{data, {.workers = 0, .hash_pixels = true}};
  const auto expected = next_steps(whole);
  std::vector<job_step> got;
  std::string state;
  const auto code = code_of([&] {
    loader x{data, {.workers = 1, .prefetch = 2, .hash_pixels = true}};
    while (const auto batch = x.next()) {
      append(got, *batch);
      state = batch->snapshot();
      if (got.size() > 1)
        continue;
      threads_left = 0;
      failures = 1;
      x.resize_workers(2);
    }
  });
  threads_left = std::numeric_limits<std::int64_t>::max();
  REQUIRE(code == errc::no_resources);
  REQUIRE_FALSE(state.empty());
  loader rest{data, {.workers = 2, .hash_pixels = true}};
  rest.restore_parts({state});
  while (const auto batch = rest.next())
    append(got, *batch);
  CHECK(got == expected);
}

TEST_CASE("no threads: a loader that lets helpers in begins, or leaves nothing of itself") {
  shutdown();
  const auto before = threads_that_live.load();
  bool was_enough = false;
  for (std::int64_t n = 0; !was_enough; ++n) {
    CAPTURE(n);
    REQUIRE(n < 40);
    const auto own = std::make_shared<runtime>();
    const auto problem = problem_of([&] {
      loader x{count(200).batch(10), {.workers = 1, .workers_at = "127.0.0.1:0", .runtime = own}};
      const few_threads limit{n, 1};
      (void)x.next();
      was_enough = limit.was_enough();
    });
    if (problem)
      CHECK(problem->code() == errc::no_resources);
    own->shutdown();
    CHECK(threads_that_live == before);
  }
}

TEST_CASE("bare_loop: without a thread it says so, once those that began have ended") {
  const bare_loop loop{numbers(200).batch(10), 4};
  for (int n = 0; n < 4; ++n) {
    const few_threads machine{n, 1};
    REQUIRE(code_of([&] { loop.run(1'000'000'000'000); }) == errc::no_resources);
  }
  loop.run(200);
}

TEST_CASE("no threads: a runtime that cannot begin them can later") {
  for (std::int64_t n = 0; n < 3; ++n) {
    shutdown();
    loader refused{numbers(200).batch(10),
                   {.workers = 1, .stuck_after = std::chrono::milliseconds{0}}};
    {
      const few_threads limit{n, 1};
      CHECK(code_of([&] { refused.next(); }) == errc::no_resources);
    }
    loader x{numbers(200).batch(10), {.workers = 1}};
    CHECK(x.next());
  }
}

TEST_CASE("no threads: none is left after a shutdown") {
  shutdown();
  const auto before = threads_that_live.load();
  for (const std::size_t workers : {0, 1, 3}) {
    CAPTURE(workers);
    const test::temporary_directory at;
    const auto own = std::make_shared<runtime>();
    loader x{jobs()[1].data(), {.workers = workers, .runtime = own}};
    loader y{jobs()[0].data(), {.workers = workers}};
    loader z{jobs()[2].data(), {.workers = workers, .runtime = own}};
    x.save(at.path(), *x.next());
    REQUIRE(y.next());
    REQUIRE(z.next());
    CHECK(threads_that_live > before);
    own->shutdown();
    shutdown();
    CHECK(threads_that_live == before);
  }
}

} // namespace
} // namespace leat::no_threads_test
