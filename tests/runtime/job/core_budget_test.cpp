#include "runtime/job/automatic_workers.hpp"
#include "runtime/job/core_budget.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

namespace leat::test::core_budget_test {
namespace {

/// A file system of control groups.
struct groups {
  void say(const std::string& file, const std::string& text) const {
    const std::filesystem::path path{at / file};
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text << '\n';
  }
  std::optional<std::size_t> cores(const std::string& membership) const {
    return cores_of_cgroup(membership, at.path());
  }

  temporary_directory at;
};

TEST_CASE("a group of version 2 gives its quota, rounded up") {
  groups x;
  for (const auto& [quota, cores] : std::map<std::string, std::optional<std::size_t>>{
           {"250000", 3}, {"200000", 2}, {"5000", 1}, {"max", std::nullopt}}) {
    CAPTURE(quota);
    x.say("job/cpu.max", quota + " 100000");
    REQUIRE(x.cores("0::/job\n") == cores);
  }
}

TEST_CASE("a group has no more than those above it") {
  groups x;
  x.say("cpu.max", "800000 100000");
  x.say("a/cpu.max", "400000 100000");
  x.say("a/b/cpu.max", "600000 100000");
  x.say("a/c/cpu.max", "max 100000");
  REQUIRE(x.cores("0::/a/b\n") == 4);
  REQUIRE(x.cores("0::/a/c\n") == 4);
  REQUIRE(x.cores("0::/\n") == 8);
}

TEST_CASE("a group that is not visible from here has the limits of the groups that are") {
  groups x;
  x.say("cpu.max", "300000 100000");
  REQUIRE(x.cores("0::/kubepods/pod1\n") == 3);
}

TEST_CASE("a group of version 1 gives its quota under the name of its controllers") {
  groups x;
  x.say("cpu,cpuacct/docker/cpu.cfs_quota_us", "150000");
  x.say("cpu,cpuacct/docker/cpu.cfs_period_us", "100000");
  x.say("cpu,cpuacct/cpu.cfs_quota_us", "-1");
  x.say("cpu,cpuacct/cpu.cfs_period_us", "100000");
  REQUIRE(x.cores("5:memory:/docker\n4:cpu,cpuacct:/docker\n0::/\n") == 2);
  REQUIRE(x.cores("4:cpu,cpuacct:/\n") == std::nullopt);
  REQUIRE(x.cores("4:cpuset:/docker\n") == std::nullopt);
}

TEST_CASE("where groups of both versions set a limit, the lower one holds") {
  groups x;
  x.say("job/cpu.max", "400000 100000");
  x.say("cpu/job/cpu.cfs_quota_us", "200000");
  x.say("cpu/job/cpu.cfs_period_us", "100000");
  REQUIRE(x.cores("4:cpu:/job\n0::/job\n") == 2);
  REQUIRE(x.cores("0::/job\n4:cpu:/job\n") == 2);
}

TEST_CASE("nonsense in files of control groups sets no limit") {
  groups x;
  x.say("cpu.max", "many");
  REQUIRE(x.cores("0::/\n") == std::nullopt);
  x.say("cpu.max", "-5 0");
  REQUIRE(x.cores("0::/\n") == std::nullopt);
  REQUIRE(x.cores("") == std::nullopt);
  REQUIRE(x.cores("what is this\n:\n") == std::nullopt);
}

TEST_CASE("loaders that look for workers at one time share the cores") {
  constexpr std::int64_t second = 1'000'000'000;
  core_shares x{8};
  const auto a = x.join();
  const auto b = x.join();
  REQUIRE(a != b);
  REQUIRE(x.share(a, 0) == 8);
  REQUIRE(x.share(b, 1 * second) == 4);
  REQUIRE(x.share(a, 2 * second) == 4);
  REQUIRE(x.share(a, 12 * second) == 8); // b is idle
  REQUIRE(x.share(b, 13 * second) == 4);
  x.leave(a);
  REQUIRE(x.share(b, 13 * second) == 8);
}

TEST_CASE("a loader has a core where there are more loaders than cores") {
  core_shares x{2};
  for (int i = 0; i < 9; ++i)
    REQUIRE(x.share(x.join(), 0) >= 1);
}

TEST_CASE("a loader takes part in sharing the cores until it is gone") {
  core_shares x{8};
  automatic_workers one{x};
  REQUIRE(one.number() == 8);
  int asked = 0;
  const auto measure = [&] {
    ++asked;
    return std::pair<std::chrono::nanoseconds, std::chrono::nanoseconds>{0, 0};
  };
  {
    const automatic_workers other{x};
    REQUIRE(other.number() == 4);
    REQUIRE(one.after_batch(measure) == 4); // the first window begins
    REQUIRE(one.number() == 4);
    REQUIRE_FALSE(one.after_batch(measure)); // and continues
    REQUIRE(asked == 1);
  }
  REQUIRE(automatic_workers{x}.number() == 4); // two share the cores again, not three
}

TEST_CASE("this process has a core at least") {
  REQUIRE(usable_cores() >= 1);
}

} // namespace
} // namespace leat::test::core_budget_test
