#include "runtime/cluster/coordinator_state.hpp"
#include "runtime/cluster/kept_in_directory.hpp"
#include "runtime/cluster/memory_state_directory.hpp"
#include "runtime/cluster/set_files.hpp"
#include "tests/support/cluster_facts.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

namespace leat::set_files_test {

using kind = set_command::kind;

namespace {

struct set_job {
  test::temporary_directory place;
  bool is_newest = true;
  set_files files{{.keep = 1, .is_newest = [this] { return is_newest; }}};

  set_command command(kind what, const job_position& at, std::uint64_t rank = 0) const {
    return {.what = what,
            .at = at,
            .directory = place.path(),
            .world_size = 2,
            .rank = rank,
            .bytes = what == kind::add ? test::part_of(rank, 2, at) : ""};
  }
  std::optional<set_answer> run(kind what, const job_position& at, std::uint64_t rank = 0) {
    auto answer = files.run(command(what, at, rank));
    if (answer)
      UNSCOPED_INFO(answer->why_not);
    return answer;
  }
  void collect(const job_position& at, const std::vector<std::uint64_t>& ranks) {
    CHECK_FALSE(run(kind::begin, at));
    for (const auto rank : ranks)
      CHECK_FALSE(run(kind::add, at, rank));
  }
  std::set<std::string> names() const { return test::names_in(place.path()); }
};

} // namespace

TEST_CASE("a set is there when all its parts are, and not before") {
  set_job x;
  x.collect({0, 4}, {1, 0});
  CHECK_FALSE(newest_set_in(x.place.path()));
  const auto answer = x.run(kind::finish, {0, 4});
  REQUIRE(answer);
  CHECK(answer->why_not.empty());
  CHECK(newest_set_in(x.place.path()) == job_position{0, 4});
  CHECK(x.names() == std::set<std::string>{"epoch-0-step-4.of-2"});
}

TEST_CASE("a set that is abandoned leaves nothing behind") {
  set_job x;
  x.collect({0, 4}, {0});
  CHECK_FALSE(x.run(kind::abandon, {0, 4}));
  CHECK(x.names().empty());
  CHECK_FALSE(x.run(kind::add, {0, 4}, 1));
  CHECK_FALSE(x.run(kind::finish, {0, 4}));
}

TEST_CASE("what cannot be stored is told once, and the next set can be") {
  set_job x;
  x.collect({0, 4}, {0});
  const auto answer = x.run(kind::add, {0, 4}, 0); // twice
  REQUIRE(answer);
  CHECK(answer->at == job_position{0, 4});
  CHECK_FALSE(answer->why_not.empty());
  CHECK_FALSE(x.run(kind::add, {0, 4}, 1));
  CHECK_FALSE(x.run(kind::finish, {0, 4}));
  CHECK(x.names().empty());
  x.collect({0, 6}, {0, 1});
  CHECK(x.run(kind::finish, {0, 6})->why_not.empty());
}

TEST_CASE("a coordinator that is not the newest any more stores nothing") {
  set_job x;
  x.collect({0, 4}, {0, 1});
  x.is_newest = false;
  CHECK_FALSE(x.run(kind::finish, {0, 4})->why_not.empty());
  CHECK(x.names().empty());
}

TEST_CASE("a directory that does not exist has no set") {
  const test::temporary_directory place;
  CHECK_FALSE(newest_set_in(place.path() + "/none"));
}

TEST_CASE("a state directory is handed over to another job when its own is over") {
  const auto directory = std::make_shared<memory_state_directory>();
  kept_in_directory first{directory, "first"};
  const auto life = first.begin_life("host:1");
  first.write_state(life, encode(coordinator_state{.term = 1, .phase = job_phase::failed}));
  kept_in_directory second{directory, "second"};
  CHECK_THROWS_AS(second.begin_life("host:2"), error);
  CHECK(first.read_state());
  CHECK_FALSE(is_over(*directory, "first"));
  first.write_state(life, encode(coordinator_state{.term = 1, .phase = job_phase::over}));
  CHECK(is_over(*directory, "first"));
  CHECK_FALSE(is_over(*directory, "second"));
  CHECK(second.begin_life("host:2") == life + 1);
  CHECK_FALSE(second.read_state());
  CHECK_FALSE(is_over(*directory, "second")); // the state is still that of the first job
  CHECK(second.newest_life() == life + 1);
  CHECK_THROWS_AS(first.begin_life("host:1"), error);
}

} // namespace leat::set_files_test
