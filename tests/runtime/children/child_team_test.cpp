#include "runtime/children/call_codec.hpp"
#include "runtime/children/child_process.hpp"
#include "runtime/children/shared_memory.hpp"
#include "tests/support/living_children.hpp"
#include "tests/support/places.hpp"
#include "tests/support/random_faults.hpp"
#include "tests/support/test.hpp"

#include <leat/child_functions.hpp>
#include <leat/leat.hpp>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace leat::child_team_test {
namespace {

child_recipe recipe(const std::string& kind, std::size_t processes) {
  return {.stage = "map@1", .processes = processes, .start = [kind] {
            return child_start{.arguments = {test::child_program, std::to_string(::getpid()), kind},
                               .content = std::string(100'000, 'c')};
          }};
}

std::shared_ptr<child_pool> pool(const std::string& kind, std::size_t processes) {
  return std::make_shared<child_pool>(recipe(kind, processes));
}

std::size_t open_files() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// A map that tells its sample what to do to the process in which the next map runs.
map_function told_by(std::map<std::uint64_t, std::string> orders) {
  return [orders = std::move(orders)](sample& x, context&) {
    std::uint64_t number = 0;
    std::memcpy(&number, x.bytes("value").data(), sizeof number);
    const auto found = orders.find(number);
    x.set("do", found == orders.end() ? std::string_view{} : std::string_view{found->second});
    x.set("n", static_cast<std::int64_t>(number));
  };
}

pipeline data_of(std::uint64_t records, const std::map<std::uint64_t, std::string>& orders,
                 const std::shared_ptr<child_pool>& in) {
  return count(records)
      .shuffle({.seed = 4})
      .map("told@1", told_by(orders))
      .map(map_stage{.name = "map@1", .make_together = map_in(in)})
      .batch(16);
}

/// What a job made of each record; "bad" for one that was masked, with its cause.
std::map<std::int64_t, std::uint32_t>
drawn_by_record(const pipeline& data, std::size_t workers,
                std::atomic<int>* batches_handed_over = nullptr) {
  loader all{data, {.workers = workers, .bad_samples = bad_sample_policy::mask}};
  std::map<std::int64_t, std::uint32_t> found;
  while (const auto batch = all.next()) {
    const auto numbers = batch->view<std::int64_t, 1>("n");
    const auto drawn = batch->view<std::uint32_t, 1>("drawn");
    for (std::size_t i = 0; i < batch->size(); ++i)
      if (batch->valid()[i])
        REQUIRE(found.emplace(numbers[i], drawn[i]).second);
    if (batches_handed_over)
      ++*batches_handed_over;
  }
  return found;
}

std::string failure_of(const pipeline& data) {
  try {
    loader all{data, {.workers = 1, .bad_samples = bad_sample_policy::mask}};
    while (all.next()) {
    }
  } catch (const error& problem) {
    return std::string{to_string(problem.code())} + ": " + problem.details().got;
  }
  return "none";
}

TEST_CASE("child_team: rows that crash their processes are bad, and no other, under storms of lost "
          "children") {
  const auto first = std::random_device{}();
  const auto rounds = test::number_in("LEAT_TEST_STORMS", 3);
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    constexpr std::uint64_t records = 320;
    std::map<std::uint64_t, std::string> orders;
    for (int i = 0; i < 4; ++i)
      orders[chance() % records] = std::array{"crash", "abort", "exit"}[chance() % 3];
    const auto needed = drawn_by_record(data_of(records, {}, pool("map", 2)), 0);
    REQUIRE(needed.size() == records);
    std::atomic<bool> is_over{false};
    std::atomic<int> ended{0};
    std::atomic<int> handed_over{0};
    std::thread storm{[&, draw = std::mt19937_64{seed + 1}]() mutable {
      // Ten times in one row would be an error: a row is made while few batches are handed over.
      for (int before = 0, since = 0; !is_over;) {
        std::this_thread::sleep_for(std::chrono::microseconds{draw() % 40'000});
        if (const int now = handed_over; std::exchange(before, now) != now)
          since = 0;
        if (since == 2)
          continue;
        if (const auto all = test::living_children(); !all.empty() && ++since > 0 && ++ended > 0)
          ::kill(all[draw() % all.size()], draw() % 2 == 0 ? SIGKILL : SIGTERM);
      }
    }};
    std::map<std::int64_t, std::uint32_t> found;
    std::string problem;
    try {
      found = drawn_by_record(data_of(records, orders, pool("map", 3)), 2, &handed_over);
    } catch (const error& x) {
      problem = x.what();
    }
    is_over = true;
    storm.join();
    CAPTURE(ended.load());
    REQUIRE(problem == "");
    REQUIRE(found.size() == records - orders.size());
    for (const auto& [number, drawn] : needed) {
      CAPTURE(number);
      REQUIRE(found.contains(number) != orders.contains(static_cast<std::uint64_t>(number)));
      if (found.contains(number))
        REQUIRE(found.at(number) == drawn);
    }
  }
}

TEST_CASE("child_team: a bad sample says that it was killed, and how") {
  for (const auto& [order, how] : std::map<std::string, std::string>{
           {"exit", "exit code 3"}, {"abort", "signal 6 (Aborted)"}}) {
    loader all{data_of(20, {{7, order}}, pool("map", 2)),
               {.workers = 1, .bad_samples = bad_sample_policy::mask}};
    std::vector<bad_row> bad;
    while (const auto batch = all.next())
      bad.insert(bad.end(), batch->bad().begin(), batch->bad().end());
    REQUIRE(bad.size() == 1);
    REQUIRE(bad[0].why == cause::killed);
    REQUIRE(bad[0].id == "count/7");
    REQUIRE(bad[0].text.find(how) != std::string::npos);
    REQUIRE(all.stats().bad[static_cast<std::size_t>(cause::killed)] == 1);
  }
}

TEST_CASE(
    "child_team: a function that kills its process with SIGKILL ends the job, not the sample") {
  REQUIRE(failure_of(data_of(20, {{7, "kill"}}, pool("map", 2))).find("no resources: its process")
          == 0);
}

TEST_CASE("child_team: exceptions mean what they mean in a thread") {
  const auto found = drawn_by_record(data_of(48, {{3, "throw"}, {9, "bad"}}, pool("map", 2)), 1);
  REQUIRE(found.size() == 46);
  REQUIRE_FALSE(found.contains(3));
  REQUIRE_FALSE(found.contains(9));
  REQUIRE(failure_of(data_of(48, {{3, "no memory"}}, pool("map", 2))).find("no resources") == 0);
}

TEST_CASE("child_team: filters run there, too") {
  const auto in = pool("filter", 2);
  const auto data = count(40)
                        .map("told@1",
                             [](sample& x, context&) {
                               std::uint64_t number = 0;
                               std::memcpy(&number, x.bytes("value").data(), sizeof number);
                               x.set("n", static_cast<std::int32_t>(number));
                             })
                        .filter({.name = "odd@1", .make = filter_in(in)})
                        .batch(5, {.end = epoch_end::mask});
  loader all{data, {.workers = 1}};
  std::vector<std::int32_t> found;
  while (const auto batch = all.next()) {
    const auto numbers = batch->view<std::int32_t, 1>("n");
    for (std::size_t i = 0; i < batch->size(); ++i)
      if (batch->valid()[i])
        found.push_back(numbers[i]);
  }
  REQUIRE(found.size() == 20);
  REQUIRE(std::all_of(found.begin(), found.end(), [](auto x) { return x % 2 == 1; }));
}

TEST_CASE("child_team: a child reads all that it was started with") {
  const auto in = pool("content", 1);
  const auto together = map_in(in)();
  sample x;
  auto* one = &x;
  context place{rng{1, 2}, 0, 0, 1, nullptr};
  together({&one, 1}, {&place, 1});
  REQUIRE(x.text("content") == std::string(100'000, 'c'));
}

TEST_CASE("child_team: children that cannot begin end the job, and say why") {
  REQUIRE(failure_of(data_of(20, {}, pool("other", 1)))
          == "worker lost: a process without its functions: no such functions");
  REQUIRE(failure_of(data_of(20, {}, pool("leave", 1)))
          == "worker lost: a process that ended while it began: exit code 4");
  auto missing = recipe("map", 1);
  missing.start = [] { return child_start{.arguments = {"/nonexistent"}}; };
  REQUIRE(failure_of(data_of(20, {}, std::make_shared<child_pool>(missing)))
              .find("worker lost: a process that did not start")
          == 0);
}

TEST_CASE("child_team: no child and no descriptor is left, and none has those of others") {
  const auto before = test::living_children().size();
  const auto files = open_files();
  {
    const auto in = pool("map", 3);
    const auto together = map_in(in)();
    std::vector<sample> samples(16);
    std::vector<sample*> all;
    std::vector<context> places;
    for (auto& x : samples) {
      all.push_back(&x);
      places.emplace_back(rng{1, 2}, 0, 0, 1, nullptr);
    }
    together(all, places);
    REQUIRE(test::living_children().size() == before + 3);
    for (const auto pid : test::living_children()) {
      const std::filesystem::directory_iterator given{"/proc/" + std::to_string(pid) + "/fd"};
      std::set<std::string> theirs;
      for (const auto& x : given)
        theirs.insert(x.path().filename());
      theirs.erase("6"); // by which it sees its parent's end
      REQUIRE(theirs == std::set<std::string>{"0", "1", "2", "3", "4", "5"});
    }
  }
  REQUIRE(test::living_children().size() == before);
  REQUIRE(open_files() == files);
}

/// Has the child call its function for a sample that says what to do.
void call(int socket, shared_memory& requests, const std::string& order) {
  sample x;
  x.set("do", std::string_view{order});
  context place{rng{1, 2}, 0, 0, 1, nullptr};
  value_writer to{requests};
  to.as_it_is(std::uint64_t{0});
  to.number(0);
  to.number(1);
  write_call(to, {&x, &place});
  const child_message message{child_message::kind::calls, to.size(), requests.bytes().size()};
  REQUIRE(::send(socket, &message, sizeof message, 0) == sizeof message);
}

TEST_CASE("child_team: children end with the program, also within a function") {
  for (const bool is_in_function : {false, true}) {
    std::array<int, 2> sockets{};
    std::array<int, 2> go{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) == 0);
    REQUIRE(::pipe(go.data()) == 0);
    auto memory = shared_memory::make_file("requests");
    const auto replies = shared_memory::make_file("replies");
    const auto program = ::fork();
    if (program == 0) {
      child_process child{"map@1",
                          {test::child_program, std::to_string(::getpid()), "map"},
                          std::array{sockets[1], memory.get(), replies.get()}};
      ::close(go[1]);
      char byte = 0;
      (void)!::read(go[0], &byte, 1);
      ::_exit(0); // without an end of the child
    }
    ::close(sockets[1]);
    ::close(go[0]);
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    // This end of the socket stays open, so that the child does not end because nobody has one.
    child_message message;
    REQUIRE(::recv(sockets[0], &message, sizeof message, 0) == sizeof message);
    REQUIRE(message.what == child_message::kind::ready);
    shared_memory requests{std::move(memory)};
    if (is_in_function) {
      call(sockets[0], requests, "hang");
      while (number_of_begun(requests.bytes()).load() == 0)
        std::this_thread::yield();
    }
    ::close(go[1]);
    REQUIRE(::waitpid(program, nullptr, 0) == program);
    const auto size = ::recv(sockets[0], &message, sizeof message, 0);
    CHECK((size == 0 || (size < 0 && errno == ECONNRESET))); // the child has closed its end
    ::close(sockets[0]);
  }
}

} // namespace
} // namespace leat::child_team_test
