#include "runtime/snapshot/snapshot_store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/job_parts.hpp"
#include "tests/support/operator_facts.hpp"
#include "tests/support/temporary_directory.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

namespace leat::save_kill_test {
namespace {

/// Saves step after step, and writes the number of each finished one to the pipe. Never returns.
[[noreturn]] void save_forever(const std::filesystem::path& directory, int pipe,
                               std::uint64_t first) {
  snapshot_store store{directory};
  for (std::uint64_t step = first;; ++step) {
    snapshot part;
    part.pipeline = test::batch_of(test::count_of(1000), 2, 2);
    part.step = step;
    part.global_step = step;
    part.sums.samples = step;
    store.save(part, 2);
    if (::write(pipe, &step, sizeof step) != sizeof step)
      ::_exit(1);
  }
}

/// The same with one file per set.
[[noreturn]] void save_jobs_forever(const std::filesystem::path& directory, int pipe,
                                    std::uint64_t first) {
  for (std::uint64_t step = first;; ++step) {
    test::save_job(directory, 0, step, 16, 2);
    if (::write(pipe, &step, sizeof step) != sizeof step)
      ::_exit(1);
  }
}

/// The step that a process reported last before it was killed; `finished` if it reported none.
template <class Save>
std::uint64_t last_before_death(Save save, const std::filesystem::path& at, std::uint64_t finished,
                                int attempt, std::mt19937& random) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const auto pid = ::fork();
  if (pid == 0)
    save(at, pipe[1], finished + 1);
  ::close(pipe[1]);
  // In most attempts something is saved before the death, also on a slow machine.
  pollfd told{pipe[0], POLLIN, 0};
  if (attempt % 5 != 0)
    REQUIRE(::poll(&told, 1, -1) == 1);
  std::this_thread::sleep_for(std::chrono::microseconds{2000 + random() % 20000});
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  for (std::uint64_t step; ::read(pipe[0], &step, sizeof step) == sizeof step;)
    finished = step;
  ::close(pipe[0]);
  return finished;
}

TEST_CASE("kill: a death inside the writing of a job's one file leaves no set but whole ones") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  test::temporary_directory at;
  std::uint64_t finished = 0;
  for (int i = 0; i < 30; ++i) {
    finished = last_before_death(save_jobs_forever, at.path(), finished, i, random);
    const auto found = snapshot_store{at.path()}.newest();
    if (!found) {
      REQUIRE(finished == 0);
      continue;
    }
    REQUIRE(found.skipped.empty());
    REQUIRE(found.parts.size() == 16);
    REQUIRE((found.parts[0].step == finished || found.parts[0].step == finished + 1));
    REQUIRE(newest_job_file(at.path()).set.step == found.parts[0].step);
    finished = found.parts[0].step;
  }
  REQUIRE(finished > 0);
  test::save_job(at.path(), 0, finished + 1, 16, 2);
  for (const auto& entry : std::filesystem::directory_iterator{at.path()})
    REQUIRE(entry.path().extension() != ".tmp");
}

TEST_CASE("kill: a death inside the writing of a snapshot loses no finished one") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  test::temporary_directory at;
  std::uint64_t finished = 0;
  for (int i = 0; i < 30; ++i) {
    finished = last_before_death(save_forever, at.path(), finished, i, random);
    auto found = snapshot_store{at.path()}.newest();
    if (finished == 0)
      continue; // died before the first
    REQUIRE(found);
    // The save in progress may also have completed.
    REQUIRE(found.parts.size() == 1);
    REQUIRE((found.parts[0].step == finished || found.parts[0].step == finished + 1));
    REQUIRE(found.parts[0].sums.samples == found.parts[0].step);
    finished = found.parts[0].step;
  }
  REQUIRE(finished > 0);
  // Leftovers of the killed process are gone after the next save.
  snapshot part;
  part.step = finished + 1;
  snapshot_store{at.path()}.save(part, 2);
  for (const auto& entry : std::filesystem::directory_iterator{at.path()})
    REQUIRE(entry.path().extension() != ".tmp");
}

} // namespace
} // namespace leat::save_kill_test
