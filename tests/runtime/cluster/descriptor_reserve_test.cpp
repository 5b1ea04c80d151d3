#include "runtime/cluster/descriptor_reserve.hpp"
#include "runtime/cluster/file_state_directory.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"
#include "tests/support/thrown_error.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <optional>

namespace leat::descriptor_reserve_test {
namespace {

file_descriptor any_file() {
  return opened([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
}

/// While this lives, the process cannot open anything more.
class no_descriptors {
public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    auto none = before_;
    {
      const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      ::close(lowest);
      none.rlim_cur = static_cast<rlim_t>(lowest);
    }
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

private:
  rlimit before_{};
};

/// With sanitizers nothing is tested: they need a pipe of their own to look at an object's type.
bool is_tested() {
  if (test::sanitized)
    WARN("skipped under sanitizers");
  return !test::sanitized;
}

} // namespace

TEST_CASE("descriptor reserve: openings of a call that uses it find descriptors, and no others") {
  if (!is_tested())
    return;
  descriptor_reserve reserve;
  bool is_without = false;
  {
    const no_descriptors none;
    const descriptor_reserve::use all{reserve};
    is_without = !any_file(); // it has not begun
  }
  CHECK(is_without);
  reserve.begin();
  std::vector<bool> found;
  {
    const no_descriptors none;
    found.push_back(!!any_file());
    for (int i = 0; i < 3; ++i) {
      const descriptor_reserve::use all{reserve};
      std::vector<file_descriptor> files;
      for (int k = 0; k < 5; ++k)
        files.push_back(any_file());
      for (const auto& x : files)
        found.push_back(!!x);
      files.clear(); // before the reserve takes them back
    }
    found.push_back(!!any_file());
  }
  const std::vector<bool> each{true, true, true, true, false};
  std::vector<bool> wanted{false};
  for (int i = 0; i < 3; ++i)
    wanted.insert(wanted.end(), each.begin(), each.end());
  wanted.push_back(false);
  CHECK(found == wanted);
}

TEST_CASE("descriptor reserve: a life in a state directory goes on without descriptors") {
  if (!is_tested())
    return;
  const test::temporary_directory at;
  const auto path = at / "state";
  file_state_directory uut{path};
  file_state_directory other{path};
  const auto life = uut.begin_life("job", "here:1");
  std::string problem;
  std::optional<coordinator_place> place;
  std::uint64_t newest = 0;
  std::optional<error> elsewhere;
  {
    const no_descriptors none;
    try {
      for (int i = 0; i < 20; ++i) {
        newest = uut.newest_life();
        place = uut.address_of_newest();
        uut.write_state(life, "job", std::to_string(i));
      }
    } catch (const error& x) {
      problem = x.what();
    }
    try {
      (void)other.newest_life(); // has begun no life: somebody who only looks
    } catch (const error& x) {
      elsewhere = x;
    }
  }
  CHECK(problem.empty());
  CHECK(newest == life);
  REQUIRE(place);
  CHECK(place->address == "here:1");
  CHECK(uut.read_state()->state.bytes == "19");
  REQUIRE(elsewhere);
  CHECK(elsewhere->code() == errc::no_resources);
  CHECK(other.newest_life() == life);
}

} // namespace leat::descriptor_reserve_test
