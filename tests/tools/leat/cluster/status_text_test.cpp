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
                     .rows_per_second = 5678,
                     .workers_at = "node1:4300",
                     .workers = 8,
                     .helper_cores = 16,
                     .feeds_at = "node1:4301"});
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
           "  rows/s  helpers' cores\n"
           "   0  node1  4711  running      1  1,234    11,234       0   0.4 s ago            12 %"
           "   5,678              16\n"
           "   1  -         -  unheard      -      -         -       -           -               -"
           "       -               -\n");
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
                          {"workers", 8},
                          {"workers_at", "node1:4300"},
                          {"helper_cores", 16},
                          {"feeds_at", "node1:4301"},
                          {"feeds", nlohmann::json::array()},
                          {"failure", nullptr}});
  CHECK(full.at("ranks").at(1).at("pid").is_null());
  const auto empty = status_to_json({});
  CHECK(empty.size() == full.size());
  for (const auto& [name, value] : full.items())
    CHECK(empty.contains(name));
  CHECK(empty.at("stored").is_null());
  CHECK(empty.at("least_ranks").is_null());
}

TEST_CASE("status: feeds have a table of their own, over all ranks") {
  auto x = job_of_two();
  CHECK(text_of(x).find("served from") == std::string::npos);
  x.ranks[0].feeds = {{.name = "queue",
                       .at = "10.0.0.5:4242",
                       .has_journal = true,
                       .records_read = 12'000,
                       .reached = 11'960,
                       .needed_from = 11'000,
                       .records_received = 3010,
                       .bytes_received = 6'020'000,
                       .records_per_second = 500,
                       .bytes_per_second = 1'000'000,
                       .waiting_permille = 120},
                      {.name = "far"}};
  x.ranks[1].feeds = {{.name = "queue",
                       .at = "10.0.0.5:4250",
                       .has_journal = true,
                       .records_read = 11'990,
                       .reached = 11'900,
                       .needed_from = 10'500,
                       .records_received = 3000,
                       .bytes_received = 6'000'000,
                       .waited = 1500ms,
                       .records_per_second = 400,
                       .bytes_per_second = 800'000,
                       .waiting_permille = 300}};
  const auto text = text_of(x);
  CAPTURE(text);
  CHECK(text.find("\n\n"
                  "feed   served from  to ranks  journal  records  lag  needed from  records/s  "
                  "bytes/s  ranks wait\n"
                  "queue  10.0.0.5       2 of 2  yes       12,000  100       10,500        900   "
                  "1.8 MB        30 %\n"
                  "far    nobody         0 of 1  no             0    0            0          0  "
                  "0 bytes         0 %\n")
        != std::string::npos);
  const auto feeds = status_to_json(x).at("feeds");
  REQUIRE(feeds.size() == 2);
  CHECK(feeds.at(0)
        == nlohmann::json{{"name", "queue"},
                          {"hosts", nlohmann::json::array({"10.0.0.5"})},
                          {"journal", true},
                          {"ranks", 2},
                          {"served", 2},
                          {"records_read", 12'000},
                          {"lag", 100},
                          {"needed_from", 10'500},
                          {"records_received", 6010},
                          {"bytes_received", 12'020'000},
                          {"records_per_second", 900},
                          {"bytes_per_second", 1'800'000},
                          {"waiting", 0.3}});
  CHECK(status_to_json(x).at("ranks").at(1).at("feeds").at(0)
        == nlohmann::json{{"name", "queue"},
                          {"at", "10.0.0.5:4250"},
                          {"journal", true},
                          {"records_read", 11'990},
                          {"reached", 11'900},
                          {"lag", 90},
                          {"needed_from", 10'500},
                          {"records_received", 3000},
                          {"bytes_received", 6'000'000},
                          {"waited_seconds", 1.5},
                          {"records_per_second", 400},
                          {"bytes_per_second", 800'000},
                          {"waiting", 0.3}});
}

TEST_CASE("status: helpers are wanted as far as trainers wait for data") {
  auto x = job_of_two();
  CHECK(helper_cores_wanted(x) == 20); // 24 threads and an eighth more, of which 8 are the rank's
  x.ranks[0].waiting_permille = 0;
  CHECK(helper_cores_wanted(x) == 16);
  x.ranks[0].helper_cores = 0;
  CHECK(helper_cores_wanted(x) == 0);
  x.ranks[0].waiting_permille = 500;
  CHECK(helper_cores_wanted(x) == 8);
  x.ranks[0].waiting_permille = 1000;
  CHECK(helper_cores_wanted(x) == 152);
  x.ranks[1] = x.ranks[0];
  CHECK(helper_cores_wanted(x) == 304);
  x.ranks[1].workers_at = "";
  x.ranks[0].state = rank_state::silent;
  CHECK(helper_cores_wanted(x) == 0);
}

TEST_CASE("status: time that passes changes nothing") {
  auto first = job_of_two();
  auto later = first;
  later.ranks[0].silent = 900ms;
  later.ranks[0].waiting_permille = 7;
  later.ranks[0].rows_per_second = 1;
  first.ranks[0].feeds = later.ranks[0].feeds = {{.name = "queue"}};
  later.ranks[0].feeds[0].waited = 1ms;
  later.ranks[0].feeds[0].waiting_permille = 7;
  later.ranks[0].feeds[0].records_per_second = 8;
  later.ranks[0].feeds[0].bytes_per_second = 9;
  CHECK(without_clocks(first) == without_clocks(later));
  later.ranks[0].global_step = 11235;
  CHECK_FALSE(without_clocks(first) == without_clocks(later));
}

} // namespace leat::command::status_text_test
