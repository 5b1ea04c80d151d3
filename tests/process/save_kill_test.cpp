#include "runtime/snapshot/snapshot_store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/job_parts.hpp"
#include "tests/support/operator_facts.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace leat::save_kill_test {
namespace {

/// Saves a set of this step in a directory.
using save_function = void (*)(const std::string& directory, std::uint64_t step);

void save_parts(const std::string& directory, std::uint64_t step) {
  snapshot part;
  part.pipeline = test::batch_of(test::count_of(1000), 2, 2);
  part.step = part.global_step = part.sums.samples = step;
  snapshot_store{directory}.save(part, 2);
}

void save_one_file(const std::string& directory, std::uint64_t step) {
  test::save_job(directory, 0, step, 16, 2);
}

/// Saves step after step in a process, which reports each that is finished, until it is killed.
/// Returns the last one that it reported; `finished` if it reported none.
std::uint64_t last_before_death(save_function save, const std::string& at, std::uint64_t finished,
                                int attempt, std::mt19937& random) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const auto pid = ::fork();
  for (auto step = finished + 1; pid == 0; ++step) {
    save(at, step);
    if (::write(pipe[1], &step, sizeof step) != sizeof step)
      ::_exit(1);
  }
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

void check_deaths(save_function save, std::size_t parts) {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  test::temporary_directory at;
  std::uint64_t finished = 0;
  for (int i = 0; i < 30; ++i) {
    finished = last_before_death(save, at.path(), finished, i, random);
    const auto found = snapshot_store{at.path()}.newest();
    if (!found) {
      REQUIRE(finished == 0);
      continue;
    }
    REQUIRE(found.skipped.empty());
    REQUIRE(found.parts.size() == parts);
    // The save in progress may also have completed.
    REQUIRE((found.parts[0].step == finished || found.parts[0].step == finished + 1));
    finished = found.parts[0].step;
    if (parts > 1)
      REQUIRE(newest_job_file(at.path()).set.step == finished);
    else
      REQUIRE(found.parts[0].sums.samples == finished);
  }
  REQUIRE(finished > 0);
  // Leftovers of the killed process are gone after the next save.
  save(at.path(), finished + 1);
  for (const auto& entry : std::filesystem::directory_iterator{at.path()})
    REQUIRE(entry.path().extension() != ".tmp");
}

TEST_CASE("kill: a death inside the writing of a job's one file leaves no set but whole ones") {
  check_deaths(save_one_file, 16);
}

TEST_CASE("kill: a death inside the writing of a snapshot loses no finished one") {
  check_deaths(save_parts, 1);
}

} // namespace
} // namespace leat::save_kill_test
