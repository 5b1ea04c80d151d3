#include "tests/support/catch.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

// The child of a fork does not have its parent's threads. What it does with its parent's loaders
// must neither hang nor disturb the parent.
namespace leat::fork_test {
namespace {

constexpr unsigned seconds_for_a_child = 20;

/// Runs a function in a child: its result, or nothing if the child hung or crashed.
std::optional<int> in_child(const std::function<int()>& run) {
  const auto child = ::fork();
  if (child == 0) {
    ::alarm(seconds_for_a_child); // ends it
    ::_exit(run());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? std::optional{WEXITSTATUS(status)} : std::nullopt;
}

/// There is something to read at once; the source's thread then waits for more.
pipeline endless() {
  return numbers_once(UINT64_MAX);
}

TEST_CASE("fork: a child gets an error for each call of its parent's loaders, and destroys them") {
  test::temporary_directory at;
  for (const std::size_t workers : {0, 2})
    for (int kind = 0; kind < 3; ++kind) {
      CAPTURE(workers, kind);
      auto data = std::make_optional(kind == 0   ? numbers(1000).shuffle().batch(8)
                                     : kind == 1 ? numbers(1000).shuffle_buffer(100).batch(8)
                                                 : endless().batch(8));
      auto x = std::make_unique<loader>(*data, loader_options{.workers = workers});
      auto held = x->next();
      REQUIRE(held);
      if (kind < 2)
        x->save(at / std::to_string(workers), *held); // has a thread of its own
      const auto code = in_child([&] {
        const auto refused = [](const std::function<void()>& call) {
          return code_of(call) == errc::forked;
        };
        if (held->size() != 8 || held->view<std::uint64_t, 1>("n").flat().size() != 8)
          return 1;
        if (!refused([&] { (void)x->next(); }) || !refused([&] { (void)x->snapshot(); })
            || !refused([&] { x->wait_saved(); }) || !refused([&] { (void)x->stats(); }))
          return 2;
        if (!refused([&] {
              loader{numbers(1000).batch(8), {.workers = 0}};
            })
            || !refused([&] {
                 loader{numbers(1000).batch(8), {.workers = 1}};
               }))
          return 3;
        held.reset();
        loader other{std::move(*x)};
        x = nullptr;
        data.reset();
        return 0;
      });
      CHECK(code == 0);
      held.reset();
      for (int i = 0; i < 10; ++i) // the parent's goes on
        REQUIRE(x->next()->step() == static_cast<std::uint64_t>(i) + 1);
      x->wait_saved();
    }
}

TEST_CASE("fork: a child may destroy a source whose thread runs in its parent") {
  auto data = std::make_optional(endless().batch(8));
  {
    loader x{*data, {.workers = 0}};
    REQUIRE(x.next());
  }
  CHECK(in_child([&] {
          data.reset();
          return 0;
        })
        == 0);
}

/// Of a job in a child: 0 where it has all its batches, 2 where leat refuses it.
int run_numbers(std::size_t workers, const std::shared_ptr<runtime>& in = {}) {
  int n = 0;
  const auto problem = problem_of([&] {
    loader x{numbers(1000).batch(8), {.workers = workers, .runtime = in}};
    while (x.next())
      ++n;
  });
  if (problem)
    return problem->code() == errc::forked ? 2 : 3;
  return n == 125 ? 0 : 1;
}

TEST_CASE("fork: idle threads are enough for a refusal, and a shutdown ends them") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    REQUIRE(run_numbers(2) == 0);
    CHECK(in_child([&] { return run_numbers(workers); }) == 2);
    CHECK(in_child([&] {
            const auto problem = problem_of([] { loader{numbers(1000).batch(8), {}}; });
            return problem->details().needed.find("shutdown()") == std::string::npos;
          })
          == 0);
    shutdown();
    CHECK(in_child([&] { return run_numbers(workers); }) == 0);
    // Loaders that live are too much, although they have ended.
    loader x{numbers(1000).batch(8), {.workers = workers}};
    shutdown();
    CHECK(in_child([&] { return run_numbers(workers); }) == 2);
  }
}

TEST_CASE("fork: what a child's parent refused it refuses its own children") {
  REQUIRE(run_numbers(2) == 0);
  CHECK(in_child([] { return in_child([] { return run_numbers(0); }) == 2 ? 0 : 1; }) == 0);
  shutdown();
  CHECK(in_child([] {
          const auto first = run_numbers(2);
          shutdown();
          return first == 0 && in_child([] { return run_numbers(2); }) == 0 ? 0 : 1;
        })
        == 0);
}

TEST_CASE("fork: a child that ends its parent's runtimes neither hangs nor disturbs them") {
  auto own = std::make_shared<runtime>();
  loader x{numbers(1000).batch(8), {.workers = 2, .runtime = own}};
  loader y{numbers(1000).batch(8), {.workers = 2}};
  REQUIRE(x.next());
  REQUIRE(y.next());
  CHECK(in_child([&] {
          shutdown();
          own->shutdown();
          own.reset();
          { const auto gone = std::move(x); }
          return 0;
        })
        == 0);
  CHECK(x.next()->step() == 1);
  CHECK(y.next()->step() == 1);
}

TEST_CASE("fork: a child may use a runtime of its parent that has no threads yet") {
  shutdown();
  const auto own = std::make_shared<runtime>();
  CHECK(in_child([&] { return run_numbers(2, own); }) == 0);
  CHECK(run_numbers(2, own) == 0);
  CHECK(in_child([&] { return run_numbers(2, own); }) == 2);
}

TEST_CASE("fork: the thread of a source that exists once lives as long as the pipeline") {
  shutdown();
  auto data = std::make_optional(endless().batch(8));
  CHECK(in_child([&] { return run_numbers(1); }) == 0);
  REQUIRE(loader{*data, {.workers = 0}}.next());
  CHECK(in_child([&] { return run_numbers(1); }) == 2);
  data.reset();
  CHECK(in_child([&] { return run_numbers(1); }) == 0);
}

} // namespace
} // namespace leat::fork_test
