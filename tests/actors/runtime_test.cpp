#include "actors/runtime_core.hpp"
#include "tests/support/blocked_source.hpp"
#include "tests/support/job.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"

// Runtimes that are begun and ended, with loaders at all moments of their lives.
namespace leat::runtime_test {
namespace {

/// Orders are computed, found by iterators in a thread of their own, and found by reading.
std::vector<pipeline> orders() {
  const auto some = probing("some@1", [](sample& s) { return number_of(s) % 3 != 0; });
  const batch_options ends{.lanes = 4, .end = epoch_end::drop};
  return {numbers(1000).shuffle().batch(8), numbers(1000).shuffle_buffer(100).batch(8, ends),
          numbers(1000).filter(some).batch(8, ends)};
}

std::shared_ptr<runtime> new_runtime(std::size_t control_threads = 2) {
  return std::make_shared<runtime>(runtime_options{.control_threads = control_threads});
}

TEST_CASE("runtime: loaders give the same batches in a runtime of their own") {
  for (const auto& data : orders()) {
    const auto expected = run_job(data, {.workers = 2, .hash_pixels = true}, 1);
    for (const std::size_t threads : {1, 3})
      for (const std::size_t workers : {0, 1, 3}) {
        CAPTURE(threads, workers);
        const auto own = new_runtime(threads);
        CHECK(run_job(data, {.workers = workers, .hash_pixels = true, .runtime = own}, 1)
              == expected);
      }
  }
}

TEST_CASE("runtime: as many control threads as no machine needs are refused by name") {
  for (const std::size_t n : {std::size_t{0}, std::size_t{257}, SIZE_MAX}) {
    const auto problem = check_refusal([&] { (void)new_runtime(n); }, errc::invalid_argument);
    CHECK(problem.details().stage == "runtime.control_threads");
  }
}

TEST_CASE("runtime: a shutdown ends the loaders that live, and what they handed over stays good") {
  for (const auto& data : orders())
    for (const std::size_t workers : {0, 2}) {
      CAPTURE(workers);
      const test::temporary_directory at;
      const auto own = new_runtime();
      loader x{data, {.workers = workers, .runtime = own}};
      loader unbegun{data, {.workers = workers, .runtime = own}};
      auto held = x.next();
      REQUIRE(held);
      own->shutdown();
      check_refusal([&] { x.next(); }, errc::shut_down, {"new loader"});
      CHECK(code_of([&] { x.next(); }) == errc::shut_down);
      CHECK(code_of([&] { unbegun.next(); }) == errc::shut_down);
      CHECK(code_of([&] { x.save(at.path()); }) == errc::shut_down);
      CHECK(code_of([&] { x.save(at.path(), *held); }) == errc::shut_down);
      CHECK(code_of([&] { x.rewind(); }) == errc::shut_down);
      CHECK(code_of([&] { x.resize_workers(1); }) == errc::shut_down);
      CHECK(code_of([&] { unbegun.restore(at.path()); }) == errc::shut_down);
      x.wait_saved();
      x.interrupt();
      CHECK(held->size() == 8);
      CHECK(held->view<std::uint64_t, 1>("n").flat().size() == 8);
      CHECK(x.position().step == 1);
      CHECK(x.stats().batches == 1);
      const auto after = held->snapshot();
      CHECK(x.snapshot() == after);
      held.reset();
      // It goes on elsewhere.
      loader rest{data, {.workers = workers, .runtime = new_runtime()}};
      CHECK(rest.restore_parts({after}).step == 1);
      CHECK(rest.next()->step() == 1);
    }
}

TEST_CASE("runtime: leases outlive their loader and its runtime") {
  std::optional<lease> held;
  {
    const auto own = new_runtime();
    loader x{numbers(1000).batch(8), {.workers = 2, .runtime = own}};
    held.emplace(x.next());
  }
  CHECK((*held)->view<std::uint64_t, 1>("n").flat()[7] == 7);
  CHECK_FALSE((*held)->snapshot().empty());
}

TEST_CASE("runtime: a loader keeps the runtime that only it has") {
  loader x{numbers(1000).batch(8), {.workers = 2, .runtime = new_runtime()}};
  int n = 0;
  while (x.next())
    ++n;
  CHECK(n == 125);
}

TEST_CASE("runtime: a new loader is refused after its shutdown") {
  const auto own = new_runtime();
  own->shutdown();
  own->shutdown();
  for (const std::size_t workers : {0, 2})
    CHECK(code_of([&] {
            loader{numbers(1000).batch(8), {.workers = workers, .runtime = own}};
          })
          == errc::shut_down);
}

/// Writes down what its runtime asks of it.
class noted_member final : public runtime_member {
public:
  noted_member(std::string name, std::vector<std::string>& calls)
      : name_(std::move(name)), calls_(calls) {}
  void ask_to_end() noexcept override { calls_.push_back("ask " + name_); }
  void end() noexcept override { calls_.push_back("end " + name_); }

private:
  const std::string name_;
  std::vector<std::string>& calls_;
};

TEST_CASE(
    "runtime: a shutdown asks all members to end before it ends the first, and takes no more") {
  using words = std::vector<std::string>;
  words calls;
  noted_member a{"a", calls};
  noted_member b{"b", calls};
  noted_member gone{"gone", calls};
  const auto core = std::make_shared<runtime_core>(runtime_options{});
  auto of_gone = runtime_core::add(core, gone);
  auto of_a = runtime_core::add(core, a);
  const auto of_b = runtime_core::add(core, b);
  CHECK_FALSE(core->is_shut_down());
  of_gone.leave();
  CHECK(calls == words{"end gone"});
  calls.clear();
  core->shutdown();
  CHECK(calls == words{"ask a", "ask b", "end a", "end b"});
  core->shutdown();
  CHECK(calls.size() == 4);
  CHECK(core->is_shut_down());
  CHECK(code_of([&] { core->host(); }) == errc::shut_down);
  CHECK(code_of([&] { (void)runtime_core::add(core, gone); }) == errc::shut_down);
  CHECK(calls.size() == 4);
}

TEST_CASE("runtime: a shutdown of the process's own ends its loaders alone, and a new one begins") {
  const auto own = new_runtime();
  loader other{numbers(1000).batch(8), {.workers = 1, .runtime = own}};
  REQUIRE(other.next());
  for (int round = 0; round < 3; ++round) {
    loader x{numbers(1000).batch(8), {.workers = 2}};
    REQUIRE(x.next());
    shutdown();
    CHECK(code_of([&] { x.next(); }) == errc::shut_down);
    REQUIRE(other.next());
  }
  CHECK(run_job(numbers(1000).batch(8), {.workers = 2, .hash_pixels = true}, 1).size() == 125);
  shutdown();
  shutdown();
}

TEST_CASE("runtime: a shutdown finishes the saves that are on their way") {
  for (const std::size_t workers : {0, 2}) {
    const test::temporary_directory at;
    const auto data = numbers(1000).shuffle_buffer(50).batch(8);
    const auto own = new_runtime();
    loader x{data, {.workers = workers, .runtime = own}};
    for (int i = 0; i < 3; ++i)
      x.save(at.path(), *x.next());
    own->shutdown();
    loader rest{data, {.workers = workers}};
    const auto here = rest.restore(at.path());
    REQUIRE(here);
    CHECK(here->step == 3);
  }
}

TEST_CASE("runtime: a shutdown by another thread ends a next() that waits") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    blocked_source source{10};
    const auto data = source.data().batch(4);
    const auto own = new_runtime();
    loader x{data, {.workers = workers, .runtime = own}};
    std::jthread other{[&] {
      source.wait();
      own->shutdown();
    }};
    std::optional<errc> code;
    while (!code)
      code = code_of([&] { (void)x.next(); });
    CHECK(code == errc::shut_down);
    CHECK(x.position().step == x.stats().batches);
    source.let_go();
  }
}

TEST_CASE("runtime: a shutdown asks running functions to stop, and waits for them") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    std::promise<void> runs;
    std::atomic<bool> has_begun = false;
    std::atomic<int> running = 0;
    const auto slow = [&](sample&, context& in) {
      if (in.position() != 9)
        return;
      ++running;
      if (!has_begun.exchange(true))
        runs.set_value();
      while (!in.cancelled())
        std::this_thread::yield();
      --running;
    };
    const auto own = new_runtime();
    loader x{count(40).map("slow@1", slow).batch(4), {.workers = workers, .runtime = own}};
    std::jthread other{[&] {
      runs.get_future().wait();
      own->shutdown();
      if (workers > 0 && running != 0)
        std::abort();
    }};
    std::optional<errc> code;
    while (!code)
      code = code_of([&] { (void)x.next(); });
    CHECK(code == errc::shut_down);
  }
}

// CAF 0.17 has several ways to wait for ever in ~actor_system. The test's time limit ends it.
TEST_CASE("runtime: hundreds are begun and ended, and none hangs") {
  const test::temporary_directory at;
  const auto data = orders();
  for (std::size_t i = 0; i < 400; ++i) {
    const auto own = new_runtime(1 + i % 3);
    auto x = std::make_optional<loader>(data[i % data.size()],
                                        loader_options{.workers = 1 + i % 4, .runtime = own});
    const auto batches = i % 5;
    for (std::size_t n = 0; n < batches; ++n)
      REQUIRE(x->next());
    if (i % 20 == 0)
      x->save(at.path());
    if (i % 7 == 0)
      x->resize_workers(2);
    if (i % 2 == 0)
      x.reset(); // its actors may end while the runtime does
    own->shutdown();
  }
}

TEST_CASE("runtime: trainers and shutdowns in many threads at once") {
  const auto data = orders();
  for (int round = 0; round < 60; ++round) {
    const auto own = new_runtime();
    std::atomic<int> failed = 0;
    std::vector<std::jthread> trainers;
    std::promise<void> begun;
    std::atomic<bool> has_begun = false;
    for (std::size_t t = 0; t < 3; ++t)
      trainers.emplace_back([&, t] {
        const auto code = code_of([&] {
          for (;;) {
            loader x{data[t], {.workers = t, .steps = 3, .runtime = own}};
            while (const auto batch = x.next()) {
              if (t == 2 && !has_begun.exchange(true))
                begun.set_value();
            }
          }
        });
        failed += code == errc::shut_down ? 0 : 1;
      });
    begun.get_future().wait();
    std::jthread other{[&] { own->shutdown(); }};
    own->shutdown();
    trainers.clear();
    REQUIRE(failed == 0);
  }
}

TEST_CASE("runtime: the process's own is begun and ended by many threads at once") {
  std::vector<std::jthread> threads;
  std::atomic<int> failed = 0;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        const auto code = code_of([&] {
          loader x{numbers(100).batch(8), {.workers = 1}};
          while (x.next()) {
          }
        });
        failed += !code || code == errc::shut_down ? 0 : 1;
        shutdown();
      }
    });
  threads.clear();
  CHECK(failed == 0);
}

} // namespace
} // namespace leat::runtime_test
