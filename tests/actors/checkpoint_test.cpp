#include "actors/caf/outside_caller.hpp"
#include "actors/checkpoint.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/job_parts.hpp"
#include "tests/support/temporary_directory.hpp"

#include <caf/error.hpp>

namespace leat::checkpoint_test {
namespace {

std::shared_ptr<const snapshot> part_of(std::uint64_t step) {
  return std::make_shared<const snapshot>(test::part_of(0, step));
}

TEST_CASE("checkpoint: each request has its answer, in order, and from one that is gone, too") {
  const test::temporary_directory at;
  std::ofstream{at / "file"} << "no directory";
  deterministic_system actors;
  auto uut = actors.system().spawn(checkpoint, gate_token{});
  std::vector<save_report> reports;
  std::size_t refused = 0;
  auto caller = make_outside_caller(actors.system(), [&](const caf::message& x) {
    if (x.match_elements<save_report>())
      reports.push_back(x.get_as<save_report>(0));
    else
      refused += x.match_elements<caf::error>() ? 1 : 0;
  });
  ask(caller, uut, save_request{at / "sets", part_of(1), 1});
  ask(caller, uut, save_request{at / "file", part_of(1), 1});
  ask(caller, uut, save_request{at / "sets", part_of(2), 1});
  CHECK(reports.empty());
  actors.run();
  REQUIRE(reports.size() == 3);
  CHECK_FALSE(reports[0].problem);
  CHECK_FALSE(reports[0].oldest);
  CHECK(reports[0].bytes == encode(*part_of(1)).size());
  CHECK(reports[0].begin_ns <= reports[0].end_ns);
  REQUIRE(reports[1].problem);
  CHECK(reports[1].problem->code() == errc::io);
  CHECK_FALSE(reports[2].problem);
  REQUIRE(reports[2].oldest); // the first set is gone
  CHECK(reports[2].oldest->step == 2);
  caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
  actors.run();
  ask(caller, uut, save_request{at / "sets", part_of(3), 1});
  CHECK(refused == 1);
  CHECK(reports.size() == 3);
  uut = nullptr;
  caller = nullptr;
}

TEST_CASE("checkpoint: a request that is never read is gone before the actor counts as ended") {
  const test::temporary_directory at;
  deterministic_system actors;
  const auto lives = std::make_shared<gate>();
  const auto has_ended = [&] { return lives->wait_for_none(std::chrono::nanoseconds{0}); };
  auto uut = actors.system().spawn(checkpoint, gate_token{lives});
  auto caller = make_outside_caller(actors.system(), [](const caf::message&) {});
  bool is_gone = false;
  bool was_late = false;
  {
    const auto let_go = [&](const snapshot* x) {
      is_gone = true;
      was_late = has_ended();
      delete x;
    };
    const std::shared_ptr<const snapshot> part{new snapshot{*part_of(1)}, let_go};
    caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
    ask(caller, uut, save_request{at / "sets", part, 1});
  }
  CHECK_FALSE(has_ended());
  actors.run();
  CHECK(has_ended());
  CHECK(is_gone);
  CHECK_FALSE(was_late);
  uut = nullptr;
  caller = nullptr;
}

} // namespace
} // namespace leat::checkpoint_test
