#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_directory.hpp"

#include <string>

// The command as a supervisor may start it: with standard input, output or error closed.

namespace leat::test::descriptors_test {
namespace {

/// Runs a script in a shell, in `at`; `$LEAT` is the command.
finished_process shell(const temporary_directory& at, const std::string& script) {
  const auto text = "cd '" + at.path() + "' && LEAT='" + leat_command + "' && " + script;
  return run_process({"/bin/sh", "-c", text}, at / "output");
}

TEST_CASE("descriptors: a job whose standard input is closed says so instead of waiting for it") {
  temporary_directory at;
  const auto got = shell(at, "timeout 100 \"$LEAT\" run - --global-batch 2 <&- 2>&1");
  CAPTURE(got.output);
  CHECK(got.code == 1);
  CHECK(got.output.find("standard input that is closed") != std::string::npos);
}

TEST_CASE("descriptors: with all three closed a job runs, and what it prints is in no file") {
  temporary_directory at;
  const std::string job = "timeout 100 \"$LEAT\" run count:200 --global-batch 10 --snapshot-dir ";
  const auto plain = shell(at, job + "a --snapshot-every 3 --log a.log >/dev/null");
  REQUIRE(plain.code == 0);
  shell(at, job + "b --snapshot-every 3 --log b.log <&- >&- 2>&-");
  CHECK(read_file(at / "a.log") == read_file(at / "b.log"));
  CHECK(shell(at, "timeout 100 \"$LEAT\" verify a.log b.log >/dev/null && diff -r a b").code == 0);
}

TEST_CASE("descriptors: a job that hangs in its own thread is ended, and the error says where") {
  temporary_directory at;
  const auto got = shell(at, "timeout 100 \"$LEAT\" run count:100 --workers 0 --fault slow:0,60000 "
                             "--stuck-after 100 2>&1");
  CAPTURE(got.output);
  CHECK(got.code == 1);
  CHECK(got.output.find("leat run: stuck: ") != std::string::npos);
}

} // namespace
} // namespace leat::test::descriptors_test
