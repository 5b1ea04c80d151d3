#include "runtime/snapshot/job_file.hpp"
#include "tests/support/cluster_nodes.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/places.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace leat::test::coordinator_test {
namespace {

bool has_seat(const member& x) {
  return x.term() == 1;
}

/// For a test that fails.
std::string text_of(const rank_process& x) {
  return x.place->look([](const member& m) {
    return "term " + std::to_string(m.term()) + ", waits for: " + m.waits_for()
           + ", refused: " + m.refused() + ", no connection: " + m.no_connection()
           + (m.heard() ? ", heard" : ", never heard");
  });
}

/// Hands over everything that there is.
void finish(rank_process& x, std::uint64_t rank, std::uint64_t world_size,
            const std::string& sets) {
  x.place->state([&](member& to) {
    to.want(sets, {});
    to.begin({0, 0}, 0);
    to.save({1, 0}, std::make_shared<const std::string>(part_of(rank, world_size, {1, 0})));
    to.finish();
  });
}

TEST_CASE("leat coordinator: gives out ranks, stores the set, and ends with its job") {
  const command_bench x;
  coordinator_process lead{x, "lead", {"--state", x.at / "state"}};
  const auto sets = x.at / "sets";
  {
    const auto port = lead.port();
    rank_process a{1, hello_for(1, 0, 2), port};
    rank_process b{2, hello_for(2, 1, 2), port};
    const bool has_begun = a.becomes(has_seat) && b.becomes(has_seat);
    CAPTURE(text_of(a), text_of(b), lead.errors());
    REQUIRE(has_begun);
    finish(a, 0, 2, sets);
    finish(b, 1, 2, sets);
    CHECK(a.becomes(&member::is_over));
    CHECK(b.becomes(&member::is_over));
  }
  CHECK(lead.end() == 0);
  const auto log = lead.errors();
  CAPTURE(log);
  CHECK(count_of(log, "term 1: 2 ranks from the beginning") == 1);
  CHECK(count_of(log, "the job is over") == 1);
  const job_file_reader file{sets, {1, 0, 2}};
  for (const std::uint64_t rank : {0, 1})
    CHECK(file.part(rank).rank == rank);
  const coordinator_process late{x, "late", {"--state", x.at / "state"}};
  late.wait_for_log("the job is over already");
}

TEST_CASE("leat coordinator: ends on a signal, and the next one goes on") {
  const command_bench x;
  std::uint16_t port = 0;
  std::unique_ptr<rank_process> rank;
  for (const int signal : {SIGTERM, SIGINT}) {
    coordinator_process lead{
        x,
        "lead" + std::to_string(signal),
        {"--state", x.at / "state", "--bind", "127.0.0.1:" + std::to_string(port)}};
    port = lead.port();
    if (!rank)
      rank = std::make_unique<rank_process>(1, hello_for(1, 0, 1), port);
    REQUIRE(rank->becomes(has_seat));
    lead.signal(signal);
    CHECK(lead.end() == 128 + signal);
    CAPTURE(lead.errors());
    CHECK(contains(lead.errors(), signal == SIGTERM ? "SIGTERM" : "SIGINT"));
  }
}

TEST_CASE("leat coordinator: ends with an error when another one takes over") {
  const command_bench x;
  coordinator_process first{x, "first", {"--state", x.at / "state"}};
  first.wait_for_log("coordinator 1 of job");
  coordinator_process second{x, "second", {"--state", x.at / "state"}};
  const auto address = second.address();
  CHECK(first.end() == 1);
  CAPTURE(first.errors());
  CHECK(contains(first.errors(),
                 "another coordinator, which has taken over: number 2, at " + address));
  second.signal(SIGTERM);
  CHECK(second.end() == 143);
}

TEST_CASE("leat coordinator: a port that is taken leaves the other one alone") {
  const command_bench x;
  const words state{"--state", x.at / "state"};
  coordinator_process first{x, "first", state};
  const auto address = first.address();
  x.says(words{"coordinator", "--bind", address} + state, 1,
         {address + ": Address already in use"});
  rank_process rank{1, hello_for(1, 0, 1), first.port()};
  CHECK(rank.becomes(has_seat));
  first.signal(SIGTERM);
  CHECK(first.end() == 143);
}

TEST_CASE("leat coordinator: says what is wrong with a place to listen") {
  const command_bench x;
  // 192.0.2.0/24 is for documents: no machine has it.
  const struct {
    std::string options;
    std::string before;
    std::string what;
  } cases[] = {
      {"", "", "--state or LEAT_CLUSTER_STATE"},
      {"--state DIR/state --bind 192.0.2.77:1 --insecure", "", "an address of this machine"},
      {"--state DIR/state --bind 10.0.0.1", "", "host:port"},
      {"--state DIR/state --interface eth0", "", "--interface, got eth0, needed --bind HOST:PORT"},
      {"--state DIR/state --port 7000", "", "--port, got 7000, needed --bind HOST:PORT"},
      {"--state DIR/state", "LEAT_CLUSTER_ADDRESS=192.0.2.77:1", "an address of this machine"},
      {"--state DIR/state", "LEAT_CLUSTER_INSECURE=perhaps", "LEAT_CLUSTER_INSECURE"},
      {"--state DIR/state --lease 1", "", "--lease"}};
  for (const auto& [options, before, what] : cases)
    x.says(words_of("coordinator " + x.filled_in(options)), 2, {what}, before);
}

TEST_CASE("leat coordinator: the environment says what no option does") {
  const command_bench x;
  const auto at = x.at / "state";
  const auto port = [&] {
    coordinator_process one{x, "one", {"--state", at, "--job", "night"}};
    const auto free = one.port();
    one.signal(SIGTERM);
    CHECK(one.end() == 143);
    return free;
  }();
  x.says({"coordinator"}, 1, {"the state of job \"night\", needed that of job \"day\""},
         "LEAT_CLUSTER_JOB=day LEAT_CLUSTER_STATE='" + at + "'");
  const auto address = "127.0.0.1:" + std::to_string(port);
  ::setenv("LEAT_CLUSTER_ADDRESS", address.c_str(), 1); // NOLINT(concurrency-mt-unsafe)
  coordinator_process same{x, "same", {"--state", at}};
  CHECK(same.address() == address);
  ::unsetenv("LEAT_CLUSTER_ADDRESS"); // NOLINT(concurrency-mt-unsafe)
  same.signal(SIGTERM);
  CHECK(same.end() == 143);
}

TEST_CASE("leat coordinator: a state directory that cannot be written is named") {
  const command_bench x;
  x.says({"coordinator", "--state", x.write("file", "x")}, 1, {x.at / "file"});
}

/// What the coordinator answers to `leat cluster status --json`; null where nobody answers.
json status_of(const command_bench& x, const std::string& address) {
  const auto got =
      x.leat({"cluster", "status", "--join", address, "--json"}, "LEAT_CLUSTER_TOKEN=secret");
  if (got.code != 0)
    return {};
  const auto lines = json_lines(got.output);
  REQUIRE(lines.size() == 1);
  return lines.front();
}

/// Asks until it is so.
template <class IsSo>
json status_until(const command_bench& x, const std::string& address, IsSo is_so) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  for (;;) {
    auto now = status_of(x, address);
    if (!now.is_null() && is_so(now))
      return now;
    CAPTURE(now.dump());
    REQUIRE(std::chrono::steady_clock::now() < end);
  }
}

std::string state_of(const json& status, std::size_t rank) {
  return status.at("ranks").at(rank).at("state");
}

void stand_at(rank_process& x, std::uint64_t step) {
  x.place->state([&](member& to) {
    to.begin({0, 0}, 0);
    to.move_on({{0, step}, step});
  });
}

TEST_CASE("leat cluster status: shows ranks, who waits, and a coordinator that was killed") {
  const command_bench x;
  const words state{"--state", x.at / "state", "--job", "night"};
  std::optional<coordinator_process> lead;
  lead.emplace(x, "first", state);
  const auto address = lead->address();
  const auto port = lead->port();
  const auto before = status_of(x, address);
  check_members(before, {{"phase", "forming"}, {"job", "night"}});
  CHECK(before.at("least_ranks").is_null());

  rank_process a{1, hello_for(1, 0, 2), port};
  const auto alone =
      status_until(x, address, [](const json& now) { return !now.at("waiting").empty(); });
  CHECK(alone.at("waiting").at(0).at("host") == "host1");
  CHECK(alone.at("waiting").at(0).at("waits_for") == "1 of 2 ranks are there, not 1");
  CHECK(alone.at("most_ranks") == 2);

  rank_process b{2, hello_for(2, 1, 2), port};
  REQUIRE(a.becomes(has_seat));
  REQUIRE(b.becomes(has_seat));
  stand_at(a, 5);
  stand_at(b, 3);
  const auto are_placed = [](const json& now) {
    return now.at("ranks").size() == 2 && state_of(now, 0) == "running"
           && state_of(now, 1) == "running" && now.at("ranks").at(0).at("global_step") == 5
           && now.at("ranks").at(1).at("global_step") == 3;
  };
  const auto running = status_until(x, address, are_placed);
  check_members(running, {{"coordinator", 1}, {"term", 1}, {"phase", "running"}});
  CHECK(running.at("ranks").at(0).at("lag") == 0);
  CHECK(running.at("ranks").at(1).at("lag") == 2);
  CHECK(running.at("ranks").at(1).at("host") == "host2");

  lead->kill();
  x.says({"cluster", "status", "--join", address}, 1, {address}, "LEAT_CLUSTER_TOKEN=secret");
  lead.emplace(x, "second", state + words{"--bind", address});
  REQUIRE(lead->address() == address);
  const auto back = status_until(x, address, are_placed);
  check_members(back, {{"coordinator", 2}, {"term", 1}});

  // Somebody else wants to be rank 0.
  const rank_process again{0, hello_for(3, 0, 2), port};
  const auto contested =
      status_until(x, address, [](const json& now) { return !now.at("waiting").empty(); });
  CHECK(contested.at("waiting").at(0).at("rank") == 0);
  CHECK(contains(contested.at("waiting").at(0).at("waits_for"),
                 "rank 0 is held by process 1 of host1"));
}

TEST_CASE("leat cluster status: a wrong token is told, and shows nothing") {
  const command_bench x;
  const coordinator_process lead{x, "lead", {"--state", x.at / "state"}};
  const auto got =
      x.says({"cluster", "status", "--join", lead.address()}, 1,
             {"LEAT_CLUSTER_TOKEN as the coordinator has it"}, "LEAT_CLUSTER_TOKEN=guess");
  CHECK(got.output.empty());
}

TEST_CASE("leat cluster status: watches a job to its end") {
  const command_bench x;
  coordinator_process lead{x, "lead", {"--state", x.at / "state"}};
  const auto address = lead.address();
  other_program watch{{"/bin/sh", "-c", "LEAT_CLUSTER_TOKEN=secret exec \"$@\"", "sh", leat_command,
                       "cluster", "status", "--watch", "--join", address},
                      x.at / "watched"};
  const auto says = [&](const char* text) {
    lead.wait_until([&] { return contains(read_file(x.at / "watched"), text); });
  };
  says("before its first term");
  {
    rank_process a{1, hello_for(1, 0, 1), lead.port()};
    REQUIRE(a.becomes(has_seat));
    says("running, term 1");
    finish(a, 0, 1, x.at / "sets");
    CHECK(a.becomes(&member::is_over));
  }
  CHECK(watch.wait() == 0);
  CHECK(lead.end() == 0);
  const auto text = read_file(x.at / "watched");
  CAPTURE(text);
  CHECK(contains(text, "over, term 1"));
  CHECK(text.find('\x1b') == std::string::npos);
}

} // namespace
} // namespace leat::test::coordinator_test
