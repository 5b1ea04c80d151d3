#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// The child of a fork does not have its parent's threads. What it does with its parent's loaders
// must neither hang nor disturb the parent.

namespace leat {
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
  auto n = std::make_shared<std::uint64_t>(0);
  return once("endless@1", [n](sample& s) {
    s.set("n", (*n)++);
    return true;
  });
}

pipeline numbers() {
  return from_function("numbers@1", 1000, [](std::uint64_t i, sample& s) { s.set("n", i); });
}

TEST_CASE("fork: a child gets an error for each call of its parent's loaders, and destroys them") {
  test::temporary_directory at;
  for (const std::size_t workers : {0, 2})
    for (int kind = 0; kind < 3; ++kind) {
      CAPTURE(workers, kind);
      auto data = std::make_optional(kind == 0   ? numbers().shuffle().batch(8)
                                     : kind == 1 ? numbers().shuffle_buffer(100).batch(8)
                                                 : endless().batch(8));
      auto x = std::make_unique<loader>(*data, loader_options{.workers = workers});
      auto held = x->next();
      REQUIRE(held);
      if (kind < 2)
        x->save(at / std::to_string(workers), *held); // has a thread of its own
      const auto code = in_child([&] {
        const auto refused = [](const std::function<void()>& call) {
          return code_of(call) == errc::invalid_argument;
        };
        if (held->size() != 8 || held->view<std::uint64_t, 1>("n").flat().size() != 8)
          return 1;
        if (!refused([&] { (void)x->next(); }) || !refused([&] { (void)x->snapshot(); })
            || !refused([&] { x->wait_saved(); }) || !refused([&] { (void)x->stats(); }))
          return 2;
        if (!refused([&] {
              loader{numbers().batch(8), {.workers = 0}};
            })
            || !refused([&] {
                 loader{numbers().batch(8), {.workers = 1}};
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

TEST_CASE("fork: a child of a process that has had no loader may have loaders") {
  // A new program: this one has had loaders, in whichever order the tests run.
  CHECK(in_child([] {
          const auto* const self = "/proc/self/exe";
          ::execl(self, self, "fork: made after the fork", nullptr);
          return 127;
        })
        == 0);
}

// Hidden: the test above runs it, in a program of its own.
TEST_CASE("fork: made after the fork", "[.hidden]") {
  CHECK(in_child([] {
          loader x{numbers().batch(8), {.workers = 2}};
          int n = 0;
          while (x.next())
            ++n;
          return n == 125 ? 0 : 1;
        })
        == 0);
}

} // namespace
} // namespace leat
