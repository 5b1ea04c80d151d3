#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/loader.hpp>
#include <leat/snapshot.hpp>
#include <leat/sources.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace leat::held_batch_test {

// Two ranks in two processes, which are made before this one has any thread: a test program of its
// own.

using namespace std::chrono_literals;

namespace {

struct rank_of_two {
  rank_of_two(std::uint64_t rank, const std::string& at)
      : sets(at + "/sets"), job{count(1'000'000'000).shuffle().batch(8),
                                {.rank = rank,
                                 .world_size = 2,
                                 .workers = 0,
                                 .cluster = cluster{.address = "127.0.0.1:0",
                                                    .state_directory = at + "/state",
                                                    .token = "secret",
                                                    .beat = 20ms}}} {
    job.restore(sets);
  }

  std::string sets;
  loader job;
};

/// Saves after its first batch, and stays until nobody writes to `stays` any more.
[[noreturn]] void be_other_rank(const std::string& at, int saved, int stays) {
  try {
    rank_of_two x{1, at};
    const auto batch = x.job.next();
    x.job.save(x.sets, *batch);
    char byte = 's';
    if (::write(saved, &byte, 1) == 1 && ::read(stays, &byte, 1) == 0)
      ::_exit(0);
  } catch (const std::exception&) {
  }
  ::_exit(1);
}

} // namespace

TEST_CASE("a batch that is held can still be saved after its rank has gone on") {
  const test::temporary_directory at;
  int saved[2];
  int stays[2];
  REQUIRE((::pipe(saved) == 0 && ::pipe(stays) == 0));
  const auto other = ::fork();
  REQUIRE(other >= 0);
  if (other == 0) {
    ::close(stays[1]);
    be_other_rank(at.path(), saved[1], stays[0]);
  }
  {
    rank_of_two x{0, at.path()};
    const auto held = x.job.next();
    char byte = 0;
    REQUIRE(::read(saved[0], &byte, 1) == 1);
    // Beats say how far this rank is, and that it may still save after the first batch.
    for (const auto end = std::chrono::steady_clock::now() + 500ms;
         std::chrono::steady_clock::now() < end;)
      REQUIRE(x.job.next());
    x.job.save(x.sets, *held);
    x.job.wait_saved();
    const auto stored = newest_snapshot(x.sets);
    REQUIRE_FALSE(stored.parts.empty());
    CHECK(inspect_snapshot(stored.parts).global_step == 1);
    for (const int end : {saved[0], saved[1], stays[0], stays[1]})
      ::close(end);
  }
  int status = 0;
  REQUIRE(::waitpid(other, &status, 0) == other);
  CHECK(status == 0);
}

} // namespace leat::held_batch_test
