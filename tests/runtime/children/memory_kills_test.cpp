#include "runtime/children/memory_kills.hpp"
#include "tests/support/test.hpp"

namespace leat::memory_kills_test {
namespace {

TEST_CASE("memory_kills: the kernel's counts are read by their names") {
  constexpr std::string_view text = "oom 7\noom_kill 3\noom_kill_x 5\nlow";
  REQUIRE(number_in_lines(text, "oom_kill") == 3);
  REQUIRE(number_in_lines(text, "oom") == 7);
  REQUIRE(number_in_lines(text, "oom_kill_x") == 5);
  REQUIRE(number_in_lines(text, "low") == 0);
  REQUIRE(number_in_lines(text, "none") == 0);
  REQUIRE(number_in_lines("", "oom") == 0);
  REQUIRE(number_in_lines("oom_kill many\n", "oom_kill") == 0);
}

TEST_CASE("memory_kills: a group of version 2 has its events where the mount is") {
  REQUIRE(events_file_of("12:cpu:/a\n0::/user.slice/b\n")
          == "/sys/fs/cgroup/user.slice/b/memory.events");
  REQUIRE(events_file_of("0::/") == "/sys/fs/cgroup//memory.events");
  REQUIRE_FALSE(events_file_of("12:cpu:/a\n"));
  REQUIRE_FALSE(events_file_of(""));
}

TEST_CASE("memory_kills: they never become fewer") {
  const auto before = memory_kills();
  REQUIRE(memory_kills() >= before);
}

} // namespace
} // namespace leat::memory_kills_test
