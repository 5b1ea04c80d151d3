#include "runtime/cluster/coordinator.hpp"
#include "runtime/cluster/member.hpp"
#include "tests/support/coordinator_cluster.hpp"
#include "tests/support/test.hpp"

namespace leat::coordinator_test {

using namespace std::chrono_literals;

namespace {

using cluster = test::coordinator_cluster;

auto part_of(const char* text) {
  return std::make_shared<const std::string>(text);
}

std::pair<member&, member&> two_that_began(cluster& x) {
  x.join_all();
  for (auto& [number, rank] : x.members)
    rank.begin({0, 0}, 0);
  return {x.members.at(1), x.members.at(2)};
}

} // namespace

TEST_CASE("a term begins once all ranks are there") {
  cluster x{{.world_size = 3}};
  x.join(1, 0);
  x.join(2, 2);
  x.pass(5s);
  CHECK(x.members.at(1).term() == 0);
  CHECK(x.members.at(1).waits_for() == "2 of 3 ranks are there, not 1");
  x.join(3, 1);
  x.pass(2s);
  CHECK(x.all_sit_in(1));
  CHECK(x.members.at(2).seat().rank == 2);
  CHECK(x.members.at(3).seat().rank == 1);
  CHECK(x.members.at(3).seat().world_size == 3);
}

TEST_CASE("a set of many ranks is stored without a beat of each") {
  cluster x{{.world_size = 200}};
  x.join_all();
  for (auto& [number, rank] : x.members)
    rank.begin({0, 0}, 0);
  x.pass(2s);
  for (auto& [number, rank] : x.members)
    rank.save({0, 5}, part_of("a part"));
  x.settle(); // the coordinator hears of all parts
  x.lead->tick(x.now);
  x.settle(); // the first ranks are asked
  x.settle(); // and all others, while no time passes
  CHECK(x.on_disk == job_position{0, 5});
  CHECK(x.parts.at({0, 5}).size() == 200);
}

TEST_CASE("ranks that come back together are one change of the state") {
  cluster x{{.world_size = 20, .comes_back_alone = true}};
  x.join_all();
  for (auto& [number, rank] : x.members)
    rank.begin({0, 0}, 0);
  x.pass(2s);
  const auto term = x.lead->state().term;
  for (std::uint64_t process = 1; process <= 10; ++process) {
    x.members.at(11).on_gone(x.members.at(process).hello().who);
    x.members.erase(process);
    x.lead->on_closed(process);
  }
  x.pass(1s);
  for (std::uint64_t rank = 0; rank < 10; ++rank)
    x.join(100 + rank, rank);
  x.pass(2s);
  CHECK(x.all_sit_in(term));
  CHECK(has(x.lead->state().reason, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more came back"));
  for (std::uint64_t rank = 0; rank < 10; ++rank)
    CHECK(x.members.at(100 + rank).seat().has_come_back);
}

TEST_CASE("what one rank alone waits for is stored, or given up, while others save further on") {
  cluster x{{.world_size = 2}};
  auto [a, b] = two_that_began(x);
  const bool has_saved = GENERATE(true, false); // or passed it without
  CAPTURE(has_saved);
  if (has_saved)
    b.save({0, 5}, part_of("b's"));
  b.move_on({{0, 6}, 6});
  b.save({0, 9}, part_of("b's later"));
  x.pass(2s); // the newest set is being collected
  a.save({0, 5}, part_of("a's"));
  a.wait_for_saved(true);
  x.pass(2s);
  CHECK(x.on_disk == (has_saved ? std::optional{job_position{0, 5}} : std::nullopt));
  CHECK(a.saved().empty());
  a.wait_for_saved(false);
  a.move_on({{0, 9}, 9});
  a.save({0, 9}, part_of("a's later"));
  x.pass(2s);
  CHECK(x.on_disk == job_position{0, 9});
  CHECK(x.parts[{0, 9}][0] == "a's later");
}

TEST_CASE("a job is over when all have finished, and what they saved is stored") {
  cluster x{{.world_size = 2}};
  auto [a, b] = two_that_began(x);
  a.save({1, 0}, part_of("a"));
  a.finish();
  x.pass(2s);
  CHECK_FALSE(a.is_over());
  b.save({1, 0}, part_of("b"));
  b.finish();
  x.pass(2s);
  CHECK(a.is_over());
  CHECK(b.is_over());
  CHECK(x.on_disk == job_position{1, 0});
}

TEST_CASE("a rank that has not taken its seat when another one fails hears of it all the same") {
  cluster x{{.world_size = 2}};
  auto& a = x.join(1, 0);
  auto& b = x.join(2, 1);
  x.settle();
  x.silent[2] = true; // the first word of the term does not reach it
  x.pass(2s);
  REQUIRE(a.term() == 1);
  REQUIRE(b.term() == 0);
  a.fail("its disk is broken");
  x.pass(2s);
  const bool begins_anew = GENERATE(false, true);
  if (begins_anew)
    x.begin();
  x.silent.erase(2);
  x.pass(2s);
  CHECK(b.term() == 1);
  CHECK(has(b.failure(), "rank 0: its disk is broken"));
  // Another process has no part in what failed.
  x.members.erase(1);
  x.lead->on_closed(1);
  auto& c = x.join(3, 0);
  x.pass(2s);
  CHECK(c.term() == 0);
  CHECK(c.failure() == "");
}

TEST_CASE("all ranks hear of the same records for each feed, whichever they were offered first") {
  cluster x{{.world_size = 2}};
  auto [a, b] = two_that_began(x);
  const feed_claim one{.name = "queue", .high = 1, .low = 2, .has_journal = true};
  const feed_claim other{.name = "queue", .high = 3, .low = 4};
  CHECK(a.decided_feed("queue") == nullptr);
  a.claim(one);
  b.claim(other);
  b.claim(one); // what it has said first, it says
  x.pass(2s);
  REQUIRE(a.decided_feed("queue"));
  REQUIRE(b.decided_feed("queue"));
  CHECK(*a.decided_feed("queue") == *b.decided_feed("queue"));
  CHECK((*a.decided_feed("queue") == one || *a.decided_feed("queue") == other));
  const auto decided = *a.decided_feed("queue");
  a.claim(decided == one ? other : one);
  x.pass(2s);
  CHECK(*a.decided_feed("queue") == decided);
  CHECK(a.decided_feed("another") == nullptr);
}

TEST_CASE(
    "a coordinator that begins anew takes the records that a rank knows, whoever offers others "
    "before") {
  const std::uint64_t knows = GENERATE(1, 2); // either of them may be heard first
  cluster x{{.world_size = 2}};
  two_that_began(x);
  const feed_claim one{.name = "queue", .high = 1, .low = 2};
  const feed_claim twin{.name = "queue", .high = 3, .low = 4};
  auto& a = x.members.at(knows);
  auto& b = x.members.at(3 - knows);
  x.silent[3 - knows] = true; // it does not hear what is decided
  a.claim(one);
  x.pass(2s);
  REQUIRE(a.decided_feed("queue"));
  REQUIRE_FALSE(b.decided_feed("queue"));
  b.claim(twin);
  x.begin();
  x.silent.erase(3 - knows);
  x.pass(3s);
  REQUIRE(b.decided_feed("queue"));
  CHECK(*b.decided_feed("queue") == one);
  CHECK(*a.decided_feed("queue") == one);
}

TEST_CASE("an observer sees what feeds have given each rank") {
  cluster x{{.world_size = 2}};
  auto [a, b] = two_that_began(x);
  a.fed_by({{.name = "queue", .at = "10.0.0.5:4242", .records_read = 7}});
  x.pass(2s);
  const auto seen = x.lead->status(x.now);
  REQUIRE(seen.ranks.size() == 2);
  REQUIRE(seen.ranks[0].fed.size() == 1);
  CHECK(seen.ranks[0].fed[0].at == "10.0.0.5:4242");
  CHECK(seen.ranks[0].fed[0].records_read == 7);
  CHECK(seen.ranks[1].fed.empty());
}

TEST_CASE(
    "a process that serves its sources hears where the ranks let feeds in, and no other does") {
  cluster x{{.world_size = 2}};
  auto [a, b] = two_that_began(x);
  b.made_by({.feeds_at = "node2:5"});
  x.pass(2s);
  CHECK(a.fed_ranks().empty());
  a.made_by({.feeds_at = "node1:4", .serves = true});
  x.pass(2s);
  CHECK(a.fed_ranks() == std::vector<fed_rank>{{0, "node1:4"}, {1, "node2:5"}});
  CHECK(b.fed_ranks().empty());
  b.made_by({.feeds_at = "node3:6"});
  x.pass(2s);
  CHECK(a.fed_ranks() == std::vector<fed_rank>{{0, "node1:4"}, {1, "node3:6"}});
  CHECK_FALSE(a.is_first_elsewhere());
  b.made_by({.feeds_at = "node3:6", .serves = true}); // it was rank 0, say
  x.pass(2s);
  CHECK(b.is_first_elsewhere());
  CHECK_FALSE(a.is_first_elsewhere());
  a.made_by({.feeds_at = "node1:4"});
  x.pass(2s);
  CHECK(a.fed_ranks().empty());
}

TEST_CASE("a full disk is told to every rank, and the job goes on") {
  cluster x{{.world_size = 2}};
  auto [a, b] = two_that_began(x);
  x.disk_is_full = true;
  a.save({0, 5}, part_of("a"));
  b.save({0, 5}, part_of("b"));
  x.pass(3s);
  CHECK(a.store_failures() == 1);
  CHECK(b.store_failure() == "the disk is full");
  CHECK(a.saved().empty());
  x.disk_is_full = false;
  a.save({0, 7}, part_of("a"));
  b.save({0, 7}, part_of("b"));
  x.pass(3s);
  CHECK(x.on_disk == job_position{0, 7});
}

TEST_CASE("a process that is known to be dead frees its seat at once") {
  cluster x{{.world_size = 2}};
  x.join_all();
  auto& a = x.members.at(1);
  x.pass(23s);
  x.silent[2] = true;
  x.lead->on_closed(2);
  a.on_gone({7, 2, 0});
  x.pass(5s);
  x.join(3, 1);
  x.pass(2s);
  CHECK(a.term() == 2);
}

TEST_CASE(
    "ranks that all were restarted, and their coordinator, find out that the former have ended") {
  cluster x{{.world_size = 2}};
  x.join_all();
  x.members.clear();
  x.join(3, 0);
  x.join(4, 1);
  x.begin(); // knows the former coordinator only by its state
  x.pass(2s);
  auto& first = x.members.at(3);
  CHECK(first.term() == 0);
  std::set<std::uint64_t> told;
  for (const auto& [who, process] : first.neighbours())
    told.insert(process.pid);
  CHECK(told == std::set<std::uint64_t>{1, 2});
  first.on_gone({7, 1, 0});
  SECTION("at once, where a process on their host looks") {
    first.on_gone({7, 2, 0});
    x.pass(2s);
    CHECK(first.neighbours().empty());
  }
  SECTION("one of them alone is not enough") {
    x.pass(25s);
    CHECK(first.term() == 0);
    x.pass(10s);
  }
  CHECK(x.all_sit_in(2));
}

TEST_CASE("under the policy alone a rank comes back to its seat while the others go on") {
  cluster x{{.world_size = 2, .comes_back_alone = true, .run_ahead = 10}};
  auto [a, b] = two_that_began(x);
  x.pass(25s);
  CHECK(a.may_hand_over(9, x.now));
  CHECK_FALSE(a.may_hand_over(10, x.now));
  x.silent[2] = true;
  a.on_gone({7, 2, 0});
  x.pass(5s);
  CHECK(a.term() == 1);
  auto& c = x.join(3, 1);
  x.pass(2s);
  CHECK(a.term() == 1);
  CHECK(c.term() == 1);
  CHECK(c.seat().has_come_back);
  b.move_on({{0, 3}, 3});
}

TEST_CASE("a second process of a rank is told who sits there") {
  cluster x{{.world_size = 1}};
  x.join(1, 0);
  x.pass(2s);
  auto& twin = x.join(2, 0);
  x.pass(2s);
  CHECK(twin.term() == 0);
  CHECK(twin.waits_for() == "rank 0 is held by process 1 of host1");
}

TEST_CASE("a process with another token hears nothing") {
  cluster x{{.world_size = 1}};
  auto hello = x.hello(9, 0);
  hello.token = "guess";
  x.lead->on_hello(9, hello, x.now);
  CHECK(x.lead->take_output().words.empty());
}

TEST_CASE("a process that says again who it is loses nothing that it has said") {
  cluster x{{.world_size = 2}};
  x.join_all();
  REQUIRE(x.all_sit_in(1));
  const auto heard = [&] { return x.lead->processes().all().at(2).beat.number; };
  const auto before = heard();
  REQUIRE(before > 0);
  x.lead->on_hello(2, x.members.at(2).hello(), x.now);
  CHECK(heard() == before);
  x.lead->on_hello(2, x.hello(3, 1), x.now); // but another process begins with nothing
  CHECK(heard() == 0);
}

TEST_CASE("processes that differ refuse each other with the list of what differs") {
  cluster x{{.world_size = 2}};
  auto& a = x.join(1, 0);
  auto hello = x.hello(2, 1);
  hello.options = {{"seed", "8"}};
  auto& b = x.join(2, hello);
  x.pass(2s);
  CHECK(has(a.refused(), "seed: \"not set\" there, \"8\" here"));
  CHECK(b.refused() == a.refused());
}

TEST_CASE("an elastic job takes as many ranks as its lanes can be dealt to") {
  cluster x{{.world_size = 0, .least_ranks = 2, .most_ranks = 6}};
  for (std::uint64_t i = 1; i <= 5; ++i) {
    auto hello = x.hello(i, {});
    hello.lanes = 12;
    x.join(i, hello);
  }
  x.pass(20s);
  std::uint64_t seated = 0;
  for (auto& [number, y] : x.members)
    seated += y.term() == 1 ? 1U : 0U;
  CHECK(seated == 4);
}

TEST_CASE("who names another job is refused, and who names none is not") {
  cluster x{{.world_size = 2}};
  x.settings.job = "a";
  x.begin();
  auto& first = x.join(1, 0);
  auto hello = x.hello(2, 1);
  hello.job = "b";
  auto& second = x.join(2, hello);
  x.settle();
  CHECK(has(second.refused(), "job \"b\""));
  CHECK(has(second.refused(), "job \"a\""));
  CHECK(first.refused().empty());
  CHECK(x.lead->status(x.now).job == "a");
}

TEST_CASE("the job is shown as its ranks name it where the coordinator was told nothing") {
  cluster x{{.world_size = 2}};
  auto hello = x.hello(1, 0);
  hello.job = "b";
  x.join(1, hello);
  x.settle();
  CHECK(x.lead->status(x.now).job == "b");
}

TEST_CASE("a coordinator ends otherwise for a newer one than for the end of the job") {
  cluster x{{.world_size = 1}};
  auto& rank = x.join(1, 0);
  x.pass(3s);
  REQUIRE(rank.term() == 1);
  x.memory.begin_life();
  x.pass(1s);
  CHECK(x.lead->is_superseded());

  cluster y{{.world_size = 1}};
  auto& other = y.join(1, 0);
  y.pass(3s);
  other.begin({0, 0}, 0);
  other.finish();
  y.pass(3s);
  REQUIRE(other.is_over());
  y.lead->on_closed(1);
  y.pass(1s);
  CHECK(y.lead->has_ended());
  CHECK_FALSE(y.lead->is_superseded());
}

} // namespace leat::coordinator_test
