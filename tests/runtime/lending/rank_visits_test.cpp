#include "runtime/lending/rank_visits.hpp"
#include "runtime/network/links/port_guard.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/test.hpp"

namespace leat::rank_visits_test {
namespace {

/// A process that visits ranks, in a thread of its own, until it is asked to end.
class visitor {
public:
  visitor(std::uint16_t coordinator, std::size_t most, std::vector<std::string> ranks)
      : find_([ranks] { return ranks; }),
        visits_({.join = "127.0.0.1:" + std::to_string(coordinator),
                 .as = link_role::feed,
                 .token = "known",
                 .most_ranks = most,
                 .asks_rarely = false,
                 .log = [this](const std::string& x) { hear(x); }},
                find_, nullptr,
                {.begin = [] {},
                 .help = [](connected_peer, rank_line&) { return false; },
                 .wait_until = [this](std::int64_t time) { return wait_until(time); },
                 .end = [this] { end(); },
                 .stop = stop_}),
        thread_([this] { visits_.run(); }) {}
  ~visitor() {
    end();
    thread_.join();
  }

  /// Waits for so many different lines with this text.
  bool wait_for(const std::string& part, std::size_t number) {
    const mutex_lock lock{mutex_};
    const auto until = test::within(test::soon);
    while (count(part) < number)
      if (!changed_.wait_until(mutex_, until))
        return false;
    return true;
  }
  std::size_t heard(const std::string& part) {
    const mutex_lock lock{mutex_};
    return count(part);
  }

private:
  std::size_t count(const std::string& part) const LEAT_REQUIRES(mutex_) {
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(), [&](const std::string& x) { return has(x, part); }));
  }
  void hear(const std::string& line) {
    const mutex_lock lock{mutex_};
    lines_.insert(line);
    changed_.notify_all();
  }
  bool wait_until(std::int64_t time) {
    const mutex_lock lock{mutex_};
    const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds{time}};
    while (!is_ending_ && std::chrono::steady_clock::now() < until)
      changed_.wait_until(mutex_, until);
    return !is_ending_;
  }
  void end() {
    stop_.set();
    const mutex_lock lock{mutex_};
    is_ending_ = true;
    changed_.notify_all();
  }

  wake_event stop_;
  mutex mutex_;
  condition_variable changed_;
  std::set<std::string> lines_ LEAT_GUARDED_BY(mutex_);
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  find_ranks find_;
  rank_visits visits_;
  std::thread thread_;
};

TEST_CASE("rank_visits: a process visits as many ranks as it may, and says that there are more") {
  port_guard coordinator{{.at = *parse_ip("127.0.0.1"),
                          .rules = {.roles = {link_role::feed}, .token = secret{"known"}}}};
  coordinator.begin([](connected_peer) {}); // which is asked for ranks in another way
  std::vector<std::string> ranks;           // nobody is there
  for (const auto* last : {"1", "2", "3", "4", "5"})
    ranks.push_back(std::string{"127.0.0."} + last + ":1");
  ranks.push_back(ranks.front()); // named twice, visited once
  const std::size_t most = GENERATE(3, 300);
  visitor x{coordinator.port(), most, ranks};
  REQUIRE(x.wait_for("waits for 127.0.0.", std::min<std::size_t>(most, 5)));
  if (most < 5) {
    REQUIRE(x.wait_for("6 ranks are there, of which 3 at a time are served", 1));
    CHECK(x.heard("waits for 127.0.0.4") == 0);
  } else {
    CHECK(x.heard("at a time are served") == 0);
  }
}

} // namespace
} // namespace leat::rank_visits_test
