#include "runtime/snapshot/snapshot_store.hpp"
#include "tests/support/command.hpp"
#include "tests/support/job_parts.hpp"
#include "tests/support/places.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/snapshot.hpp>

#include <unistd.h>

// The file of a whole job: the command resumes from it, and system calls fail while it is written.
namespace leat::test::job_file_test {
namespace {

namespace fs = std::filesystem;

/// Puts the parts of the newest set into one file, and removes all else.
std::string into_one_file(const std::string& directory) {
  const auto found = newest_snapshot(directory);
  const auto facts = inspect_snapshot(found.parts);
  fs::remove_all(directory);
  job_file_writer writer{directory, {facts.epoch, facts.step}, facts.world_size};
  for (auto rank = facts.world_size; rank-- > 0;)
    writer.add(rank, found.parts[rank]);
  writer.finish(1);
  return newest_job_file(directory).path.string();
}

TEST_CASE("job file: the command resumes from it in other worlds, and says what it is") {
  const command_bench x;
  const auto directory = x.at / "snapshots";
  const auto job = x.pipeline(R"(count(3000).filter("key_hash@1", keep=80)
      .shuffle_buffer(64, seed=1).batch(24, lanes=24, end="mask"))");
  const auto run = [&](int world_size, const words& more) {
    return x.ask(words{"run"} + job
                 + words{"--world-size", std::to_string(world_size), "--epochs", "2"} + more);
  };
  const auto digest = run(1, {}).at("digest");
  const words saving{"--snapshot-dir", directory, "--snapshot-every", "1000"};
  const words resuming = words{"--resume"} + saving;
  run(8, saving + words{"--steps", "75"});
  std::uint64_t steps = 75;
  for (const int world_size : {6, 3, 8}) {
    const auto file = into_one_file(directory);
    const auto facts = x.ask({"inspect", file});
    check_members(facts, {{"global_step", steps},
                          {"in_one_file", true},
                          {"parts", facts.at("world_size")},
                          {"partial", false}});
    CHECK(facts.at("largest_part") > 300);
    const auto text = x.succeed({"inspect", file});
    CHECK(contains(text, "one file, the set of a job with " + facts.at("world_size").dump()
                             + " ranks, the largest of "));
    CHECK(x.succeed({"inspect", directory}) == text);
    steps += 40;
    const auto last = world_size == 8;
    const auto ended =
        run(world_size, last ? resuming : resuming + words{"--steps", std::to_string(steps)});
    if (last)
      CHECK(ended.at("digest") == digest);
  }
  CHECK(x.ask({"inspect", directory}).at("in_one_file") == false);
}

/// Run by the next test in a process of its own, with the shim. Never returns.
TEST_CASE("writes one file of a job", "[.writes]") {
  try {
    save_job(std::getenv("LEAT_TEST_DIRECTORY"), 0, 2, 3, 1);
    ::_exit(0);
  } catch (const error& x) {
    ::_exit(x.code() == errc::io || x.code() == errc::no_resources ? 3 : 4);
  }
}

TEST_CASE("job file: whichever system call fails, there is an older set or the new one, whole") {
  const auto self = fs::read_symlink("/proc/self/exe").string();
  const struct {
    std::string call, code;
    int most;
  } failures[] = {{"open", "EMFILE", 8}, {"write", "ENOSPC", 5}, {"write", "EINTR", 5},
                  {"fsync", "EIO", 3},   {"fsync", "EINTR", 3},  {"pread", "EIO", 8},
                  {"pread", "EINTR", 8}, {"rename", "EACCES", 1}};
  int failed = 0;
  for (const auto& x : failures)
    for (int at = 1; at <= x.most; ++at) {
      CAPTURE(x.call, x.code, at);
      const temporary_directory directory;
      const auto place = directory / "snapshots";
      save_job(place, 0, 1, 3);
      save_job(place, 0, 0, 3);
      const auto command =
          "LEAT_TEST_DIRECTORY=" + place + " LEAT_FAIL_PATH=snapshots LEAT_FAIL_CALL=" + x.call
          + " LEAT_FAIL_ERRNO=" + x.code + " LEAT_FAIL_AT=" + std::to_string(at)
          + " LEAT_FAIL_DEADLINE=60 LD_PRELOAD=" + failing_calls + ' ' + self + " '[.writes]'";
      const int status = std::system(command.c_str());
      REQUIRE(WIFEXITED(status));
      const auto code = WEXITSTATUS(status);
      failed += code == 3 ? 1 : 0;
      REQUIRE((code == 0 || (code == 3 && x.code != "EINTR")));
      for (const auto& entry : fs::directory_iterator{place})
        REQUIRE(entry.path().extension() != ".tmp");
      const auto found = snapshot_store{place}.newest();
      REQUIRE(found.parts.size() == 3);
      REQUIRE(found.skipped.empty());
      REQUIRE((found.parts[0].step == 2 || (code == 3 && found.parts[0].step == 1)));
      if (x.call == "write" && code == 3)
        REQUIRE(fs::exists(place + "/epoch-0-step-0.of-3"));
    }
  CHECK(failed >= 5 + 2 + 1);
}

} // namespace
} // namespace leat::test::job_file_test
