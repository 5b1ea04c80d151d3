#include "tests/support/json_members.hpp"
#include "tests/support/standard.hpp"

#include "tools/leat/cluster/status_text.hpp"

namespace leat::command::status_text_test {
namespace {

using namespace std::chrono_literals;

cluster_report job_of_two() {
  cluster_report x{.address = "node1:7000",
                   .job = "night",
                   .coordinator = 2,
                   .phase = cluster_phase::running,
                   .term = 3,
                   .reason = "term 3: 2 ranks from epoch 0 step 40, after: rank 1 is lost",
                   .wanted = ranks_wanted{2, 2},
                   .start = job_position{0, 40},
                   .stored = job_position{1, 20},
                   .collecting = job_position{1, 40},
                   .sets = "/shared/sets"};
  x.ranks.push_back({.rank = 0,
                     .state = rank_state::running,
                     .host = "node1",
                     .pid = 4711,
                     .at = {1, 1234},
                     .global_step = 11234,
                     .lag = 0,
                     .silent = 400ms,
                     .waiting_permille = 123,
                     .rows_per_second = 5678});
  x.ranks.push_back({.rank = 1});
  return x;
}

std::string text_of(const cluster_report& x) {
  std::string text;
  for (const auto& line : status_lines(x))
    text += line + "\n";
  return text;
}

} // namespace

TEST_CASE("status: a table for people") {
  CHECK(text_of(job_of_two())
        == "job             night\n"
           "coordinator     number 2, at node1:7000\n"
           "state           running, term 3\n"
           "reason          term 3: 2 ranks from epoch 0 step 40, after: rank 1 is lost\n"
           "began at        epoch 0 step 40\n"
           "newest snapshot epoch 1 step 20, in /shared/sets\n"
           "collecting      epoch 1 step 40\n"
           "ranks           2, 2 wanted\n"
           "\n"
           "rank  host    pid  state    epoch   step  job step  behind  last heard  waits for data"
           "  rows/s\n"
           "   0  node1  4711  running      1  1,234    11,234       0   0.4 s ago            12 %"
           "   5,678\n"
           "   1  -         -  unheard      -      -         -       -           -               -"
           "       -\n");
}

TEST_CASE("status: what failed, and what processes wait for, is below the table") {
  auto x = job_of_two();
  x.phase = cluster_phase::forming;
  x.store_failures = 2;
  x.store_failure = "the disk is full";
  x.ranks[1].failure = "a bad sample\n  in shard 3";
  x.waiting.push_back({.host = "node3", .pid = 9, .rank = 1, .waits_for = "rank 1 is held"});
  x.waiting.push_back({.host = "node4", .pid = 8, .waits_for = "nothing: it was refused: a\n  b"});
  const auto text = text_of(x);
  CAPTURE(text);
  CHECK(text.find("not stored      2 times, last: the disk is full\n") != std::string::npos);
  CHECK(text.find("rank 1 failed   a bad sample\n                  in shard 3\n")
        != std::string::npos);
  CHECK(text.find("  rank 1, process 9 of node3: waits for rank 1 is held\n") != std::string::npos);
  CHECK(text.find("  process 8 of node4: waits for nothing: it was refused: a\n")
        != std::string::npos);
}

TEST_CASE("status: a job that nobody has joined says so") {
  const auto text = text_of({.address = "a:1", .coordinator = 1});
  CAPTURE(text);
  CHECK(text.find("(without a name)") != std::string::npos);
  CHECK(text.find("forming, before its first term") != std::string::npos);
  CHECK(text.find("0, no process has come yet") != std::string::npos);
  CHECK(text_of({.wanted = ranks_wanted{2, 8}}).find("0, 2 to 8 wanted") != std::string::npos);
}

TEST_CASE("status: texts of other machines do nothing to a terminal, and are UTF-8") {
  auto x = job_of_two();
  x.job = "night\x1b[2J\xff";
  x.ranks[0].host = "a\tb";
  const auto text = text_of(x);
  CAPTURE(text);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\t') == std::string::npos);
  CHECK(status_to_json(x).dump().find("night") != std::string::npos);
}

TEST_CASE("status: JSON has the same members whatever is known") {
  const auto full = status_to_json(job_of_two());
  test::check_members(full, {{"job", "night"},
                             {"phase", "running"},
                             {"stored", nlohmann::json{{"epoch", 1}, {"step", 20}}},
                             {"least_ranks", 2}});
  CHECK(full.at("ranks").at(0)
        == nlohmann::json{{"rank", 0},
                          {"state", "running"},
                          {"host", "node1"},
                          {"pid", 4711},
                          {"epoch", 1},
                          {"step", 1234},
                          {"global_step", 11234},
                          {"lag", 0},
                          {"silent_seconds", 0.4},
                          {"came_back", false},
                          {"waiting", 0.123},
                          {"rows_per_second", 5678},
                          {"failure", nullptr}});
  CHECK(full.at("ranks").at(1).at("pid").is_null());
  const auto empty = status_to_json({});
  CHECK(empty.size() == full.size());
  for (const auto& [name, value] : full.items())
    CHECK(empty.contains(name));
  CHECK(empty.at("stored").is_null());
  CHECK(empty.at("least_ranks").is_null());
}

TEST_CASE("status: time that passes changes nothing") {
  const auto first = job_of_two();
  auto later = first;
  later.ranks[0].silent = 900ms;
  later.ranks[0].waiting_permille = 7;
  later.ranks[0].rows_per_second = 1;
  CHECK(without_clocks(first) == without_clocks(later));
  later.ranks[0].global_step = 11235;
  CHECK_FALSE(without_clocks(first) == without_clocks(later));
}

} // namespace leat::command::status_text_test
