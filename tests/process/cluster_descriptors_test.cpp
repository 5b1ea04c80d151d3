#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/sanitized.hpp"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// Clusters whose coordinator has few descriptors, or none left: connections that say nothing hold
// no rank, and leases are renewed.
namespace leat::test::cluster_descriptors_test {
namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

constexpr auto pipeline = R"(count(1000000).shuffle(seed=5).batch(12, lanes=12))";
constexpr std::size_t limit = 1024;

/// A command that runs another one, which may have so many descriptors.
words with_limit() {
  return {"/bin/sh", "-c", "ulimit -n " + std::to_string(limit) + "; exec \"$@\"", "sh"};
}

/// Many connections to a port, as long as this lives: a third says nothing, a third sends half of a
/// hello, and a third has shut its own direction. Those that are cut off come again.
class idle_crowd {
public:
  idle_crowd(std::uint16_t port, std::size_t number) : port_(port), sockets_(number, -1) {
    rlimit all{};
    ::getrlimit(RLIMIT_NOFILE, &all);
    all.rlim_cur = all.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &all);
    for (std::size_t i = 0; i < sockets_.size(); ++i)
      come(i);
    thread_ = std::jthread{[this](const std::stop_token& stop) { stay(stop); }};
  }
  idle_crowd(const idle_crowd&) = delete;
  idle_crowd& operator=(const idle_crowd&) = delete;
  ~idle_crowd() {
    thread_ = {};
    for (const int one : sockets_)
      ::close(one);
  }

  /// Connections that were made.
  std::size_t visits() const { return visits_; }

private:
  void come(std::size_t i) {
    const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port_);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)::connect(one, reinterpret_cast<const sockaddr*>(&place), sizeof place);
    sockets_[i] = one;
    visits_ += one >= 0 ? 1 : 0;
    if (i % 3 == 1)
      (void)!::send(one, "\x06\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x08\x01", 18,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
    if (i % 3 == 2)
      ::shutdown(one, SHUT_WR);
  }
  void stay(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (std::size_t i = 0; i < sockets_.size(); ++i) {
        char byte = 0;
        const auto n = ::recv(sockets_[i], &byte, 1, MSG_DONTWAIT);
        if (n >= 0 || errno != EAGAIN) {
          ::close(sockets_[i]);
          come(i);
        }
      }
      std::this_thread::sleep_for(milliseconds{10});
    }
  }

  std::uint16_t port_;
  std::vector<int> sockets_;
  std::atomic<std::size_t> visits_ = 0;
  std::jthread thread_;
};

/// The lowest number that no descriptor of the process has. It opens some now and then, so this
/// looks several times.
rlim_t lowest_free(pid_t process) {
  rlim_t lowest = RLIM_INFINITY;
  for (int i = 0; i < 20; ++i) {
    const auto all = "/proc/" + std::to_string(process) + "/fd/";
    rlim_t n = 0;
    while (std::filesystem::is_symlink(all + std::to_string(n)))
      ++n;
    lowest = std::min(lowest, n);
    std::this_thread::sleep_for(milliseconds{7});
  }
  return lowest;
}

/// While this lives, a process cannot open anything more.
class no_descriptors {
public:
  explicit no_descriptors(pid_t of) : process_(of) {
    REQUIRE(::prlimit(process_, RLIMIT_NOFILE, nullptr, &before_) == 0);
    auto none = before_;
    none.rlim_cur = lowest_free(process_);
    REQUIRE(::prlimit(process_, RLIMIT_NOFILE, &none, nullptr) == 0);
  }
  ~no_descriptors() { ::prlimit(process_, RLIMIT_NOFILE, &before_, nullptr); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

private:
  pid_t process_;
  rlimit before_{};
};

/// The port of a coordinator in rank 0, once it listens.
std::uint16_t port_in(const std::string& state) {
  for (;;) {
    const auto text = read_file(state + "/coordinator.1");
    if (text.ends_with("\n"))
      return static_cast<std::uint16_t>(std::stoul(text.substr(text.rfind(':') + 1)));
    std::this_thread::sleep_for(milliseconds{2});
  }
}

} // namespace

TEST_CASE("1,020 idle connections at a limit of 1,024 files hold no rank") {
  const bool is_apart = GENERATE(true, false); // or in rank 0
  CAPTURE(is_apart);
  cluster_job job{pipeline, {"--steps", "300"}, 2, {"--step-time", "5"}};
  std::optional<coordinator_process> lead;
  std::uint16_t port = 0;
  if (is_apart) {
    lead.emplace(job.bench, "lead",
                 words{"--state", job.bench.at / "state"}
                     + words_of("--bind 127.0.0.1:0 --lost-after 3 --lease 5"),
                 with_limit());
    port = lead->port();
  } else {
    job.take(0, job.launch("0", job.log_of(0), job.with_coordinator(0), "", with_limit()));
    port = port_in(job.bench.at / "state");
  }
  const idle_crowd crowd{port, 1020};
  const auto options = [&](std::uint64_t rank) {
    return is_apart ? job.seat(rank, *lead) : job.with_coordinator(rank);
  };
  for (const std::uint64_t rank : {0, 1})
    if (is_apart || rank == 1)
      job.start_process(rank, options(rank));
  job.wait_for_batches(1, 30);
  job.rank(1).kill(); // another process takes its place in the crowd
  job.start_process(1, options(1));
  job.check_end();
  CHECK(crowd.visits() > 1020);
  if (lead)
    CHECK(lead->end() == 0);
}

TEST_CASE("a coordinator without descriptors renews leases, and a rank without them needs none") {
  if (sanitized) {
    WARN("skipped: a sanitizer needs a pipe of its own to look at an object's type");
    return;
  }
  constexpr std::size_t step_ms = 15;
  cluster_job job{pipeline, {"--steps", "800"}, 2, {"--step-time", std::to_string(step_ms)}};
  coordinator_process lead{job.bench, "lead",
                           words{"--state", job.bench.at / "state"}
                               + words_of("--bind 127.0.0.1:0 --lost-after 3 --lease 5")};
  for (const std::uint64_t rank : {0, 1})
    // Without descriptors no set can be stored.
    job.start_process(rank, job.seat(rank, lead) + words_of("--snapshot-every 2000"));
  for (const std::uint64_t rank : {0, 1})
    job.wait_for_batches(rank, 20);
  {
    const no_descriptors of_coordinator{lead.pid()};
    const no_descriptors of_rank{job.rank(1).pid()};
    // Further than any lease of before allows.
    const auto from = job.batches_of(0);
    const auto until = from + 7000 / step_ms;
    const auto patience = clock::now() + std::chrono::seconds{60};
    while (job.batches_of(0) < until && clock::now() < patience)
      std::this_thread::sleep_for(milliseconds{5});
    CAPTURE(lead.errors());
    CHECK(job.batches_of(0) >= until);
    CHECK_FALSE(contains(lead.errors(), "no resources"));
  }
  job.check_end();
  CHECK(lead.end() == 0);
}

} // namespace leat::test::cluster_descriptors_test
